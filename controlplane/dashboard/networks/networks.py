"""Pages of networks: list, one with its subnets, ports and a drawing, forms."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.form_saved import changed_text
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.networks.forms import NetworkEditForm, NetworkPageForm
from controlplane.dashboard.networks.listing import NETWORKS
from controlplane.dashboard.networks.tags import tagged_form_saved
from controlplane.dashboard.networks.topology import MAX_CHILDREN, drawing
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.ports.listing import PortRow
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.errors import Forbidden
from servers.networks.domain.tags import tags_text
from servers.networks.selectors.network_topology import network_topology
from servers.networks.selectors.networks import may_have_ports, network_get, owns_network
from servers.networks.selectors.subnets import subnets_in
from servers.networks.selectors.tags import TaggedKind
from servers.networks.selectors.topology import port_counts, ports_joined
from servers.networks.services.networks import network_create, network_delete, network_update
from servers.networks.services.subnets import subnet_create

PAGE_SIZE = 50
SECTION = "networks"


@require_safe
@page("networks:read")
def network_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The project's own, shared and external ones; all for an admin."""
    return list_response(request, caller, NETWORKS)


@require_safe
@page("networks:read")
def network_detail(request: HttpRequest, caller: Caller, network_id: uuid.UUID) -> HttpResponse:
    """One network: what hangs on it, its subnets and ports."""
    network = network_get(caller=caller, network_id=network_id)
    ports = ports_joined(caller, network.pk)
    subnets = list(subnets_in(caller, network.pk))
    tree = network_topology(caller=caller, network=network, subnets=subnets, limit=MAX_CHILDREN)
    count = port_counts(caller, [network.pk]).get(network.pk, 0)
    context = {
        "network": network,
        "subnets": subnets,
        "ports": [PortRow(one) for one in ports],
        "port_count": count,
        "owns": owns_network(caller, network) and caller.can_write,
        "takes_ports": may_have_ports(caller, network) and allows(caller, "ports:write"),
        "drawing": drawing(tree, here=network.pk),
    }
    return show(request, caller, "dashboard/networks/network_detail.html", SECTION, **context)


def own_network(caller: Caller, network_id: uuid.UUID) -> Any:
    """One that the caller may say the shape of: no form is shown for others. Raises NotFound, Forbidden."""
    network = network_get(caller=caller, network_id=network_id)
    if not owns_network(caller, network):
        raise Forbidden(
            _("Network %(network)s is another project's: only that and administrators change it.")
            % {"network": network}
        )
    return network


@require_http_methods(["GET", "HEAD", "POST"])
@page("networks:write")
def network_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A network with its first subnet, or none of both."""
    form = NetworkPageForm(request.POST or None, is_admin=caller.is_admin)
    network = tagged_form_saved(
        request,
        caller,
        form,
        lambda: _made(caller, form),
        lambda made: _("%(name)s was created.") % {"name": made.name},
        kind=TaggedKind.NETWORK,
    )
    if network is not None:
        return redirect("network", network_id=network.pk)
    return show(request, caller, "dashboard/networks/network_form.html", SECTION, form=form)


def _made(caller: Caller, form: NetworkPageForm) -> Any:
    network = network_create(caller=caller, request=form.network_request(caller))
    if form.cleaned_data["cidr"].strip():
        subnet_create(caller=caller, request=form.request_in(network.pk))
    return network


@require_http_methods(["GET", "HEAD", "POST"])
@page("networks:write")
def network_edit(request: HttpRequest, caller: Caller, network_id: uuid.UUID) -> HttpResponse:
    """Name, MTU, switches, tags."""
    network = own_network(caller, network_id)
    initial = {name: getattr(network, name) for name in NetworkEditForm.base_fields} | {"tags": tags_text(network.tags)}
    form = NetworkEditForm(request.POST or None, initial=initial, is_admin=caller.is_admin)

    def write() -> Any:
        said = {name: value for name, value in form.cleaned_data.items() if name != "tags"}
        changes = {name: value for name, value in said.items() if value != initial[name]}
        return network_update(caller=caller, network_id=network_id, changes=changes)

    saved = tagged_form_saved(
        request, caller, form, write, changed_text, kind=TaggedKind.NETWORK, tags_before=network.tags
    )
    if saved is not None:
        return redirect("network", network_id=network.pk)
    return show(request, caller, "dashboard/networks/network_form.html", SECTION, form=form, network=network)


@require_POST
@page("networks:write")
def network_delete_view(request: HttpRequest, caller: Caller, network_id: uuid.UUID) -> HttpResponse:
    """Remove one that no port is in, with its subnets."""
    network = network_get(caller=caller, network_id=network_id)
    network_delete(caller=caller, network_id=network_id)
    said = _("%(name)s was deleted.") % {"name": network.name or network.pk}
    messages.success(request, said, extra_tags="good")
    return redirect("networks")
