"""Forms of subnets: one more, what one tells its guests, and its end."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.dashboard.form_saved import changed_text
from controlplane.dashboard.networks.forms import SubnetEditForm, SubnetPageForm
from controlplane.dashboard.networks.networks import SECTION, own_network
from controlplane.dashboard.networks.pairs_of_lines import pairs_of_routes
from controlplane.dashboard.networks.tags import tagged_form_saved
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from servers.networks.domain.tags import tags_text
from servers.networks.selectors.subnets import subnet_get
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.subnets import subnet_create, subnet_delete, subnet_update


@require_http_methods(["GET", "HEAD", "POST"])
@page("networks:write")
def subnet_new(request: HttpRequest, caller: Caller, network_id: uuid.UUID) -> HttpResponse:
    """One more range of addresses."""
    network = own_network(caller, network_id)
    form = SubnetPageForm(request.POST or None)
    subnet = tagged_form_saved(
        request,
        caller,
        form,
        lambda: subnet_create(caller=caller, request=form.request_in(network.pk)),
        lambda made: _("%(range)s was added to %(network)s.") % {"range": made.cidr, "network": network.name},
        kind=TaggedKind.SUBNET,
    )
    if subnet is not None:
        return redirect("network", network_id=network.pk)
    context = {"form": form, "network": network, "is_subnet": True}
    return show(request, caller, "dashboard/networks/network_form.html", SECTION, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("networks:write")
def subnet_edit(request: HttpRequest, caller: Caller, subnet_id: uuid.UUID) -> HttpResponse:
    """What a range tells its guests, out of which pools it gives addresses, its tags."""
    subnet = subnet_get(caller=caller, subnet_id=subnet_id)
    network = own_network(caller, subnet.network_id)
    initial = {
        "name": subnet.name,
        "description": subnet.description,
        "gateway": subnet.gateway or "-",
        "dns_servers": " ".join(subnet.dns_servers),
        "has_dhcp": subnet.has_dhcp,
        "pools": tuple((first, last) for first, last in subnet.pools),
        "routes": pairs_of_routes(subnet.routes),
        "tags": tags_text(subnet.tags),
    }
    form = SubnetEditForm(request.POST or None, initial=initial)

    def write() -> Any:
        changes = {name: value for name, value in form.values().items() if name in form.changed_data}
        return subnet_update(caller=caller, subnet_id=subnet_id, changes=changes)

    saved = tagged_form_saved(
        request, caller, form, write, changed_text, kind=TaggedKind.SUBNET, tags_before=subnet.tags
    )
    if saved is not None:
        return redirect("network", network_id=network.pk)
    context = {"form": form, "network": network, "subnet": subnet}
    return show(request, caller, "dashboard/networks/network_form.html", SECTION, **context)


@require_POST
@page("networks:write")
def subnet_delete_view(request: HttpRequest, caller: Caller, subnet_id: uuid.UUID) -> HttpResponse:
    """Remove a range of which no port has an address."""
    subnet = subnet_get(caller=caller, subnet_id=subnet_id)
    subnet_delete(caller=caller, subnet_id=subnet_id)
    messages.success(request, _("%(name)s was removed.") % {"name": subnet.cidr}, extra_tags="good")
    return redirect("network", network_id=subnet.network_id)
