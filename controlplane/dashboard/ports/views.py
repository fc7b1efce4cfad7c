"""Pages of ports: list, one with what it is of and what it may, forms."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from computeagent.protocol.networks import AddressPair
from controlplane.dashboard.form_saved import changed_text
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.networks.tags import tagged_form_saved
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.ports.forms import PortEditForm, PortForm, PortNameForm
from controlplane.dashboard.ports.lines import NO_ADDRESS
from controlplane.dashboard.ports.listing import PORTS, PortRow
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Forbidden
from servers.networks.domain.port_resources import resource_groups
from servers.networks.domain.tags import tags_text
from servers.networks.selectors.groups import groups_visible
from servers.networks.selectors.networks import networks_taking_ports, owns_network
from servers.networks.selectors.ports import port_get
from servers.networks.selectors.subnets import subnets_visible
from servers.networks.selectors.tags import TaggedKind, owns_tags
from servers.networks.selectors.topology import ports_named
from servers.networks.services.port_changes import OF_NETWORKS, port_delete, port_update
from servers.networks.services.ports import ports_create

SECTION = "ports"
FORM = "dashboard/networks/port_form.html"
MAX_CHOICES = 500


@require_safe
@page("ports:read")
def port_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The project's own, and those that others have in its networks; all for an admin."""
    return list_response(request, caller, PORTS)


@require_safe
@page("ports:read")
def port_detail(request: HttpRequest, caller: Caller, port_id: uuid.UUID) -> HttpResponse:
    """One port: what it is of, its addresses, and what it lets through."""
    port = port_get(caller=caller, port_id=port_id)
    owns = owns_tags(caller, port)
    ranges = dict(subnets_visible(caller).filter(network=port.network_id).values_list("pk", "cidr"))
    subnets = {row.address: ranges.get(row.subnet_id, "") for row in port.allocations.all()}
    context = {
        "row": PortRow(ports_named(caller, [port])[0]),
        "port": port,
        "addresses": [(address, subnets.get(address, "")) for address in port.addresses],
        "groups": sorted(port.groups.all(), key=lambda group: group.name),
        "resources": resource_groups(port.resource_request) if caller.is_admin else (),
        "owns": caller.can_write and owns,
        "may_delete": caller.can_write and (owns or (port.network is not None and owns_network(caller, port.network))),
        "is_of_network": port.owner in OF_NETWORKS,
    }
    return show(request, caller, "dashboard/networks/port_detail.html", SECTION, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("ports:write")
def port_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A port that an instance may be given. The address may name its network: `?network=`."""
    networks = list(networks_taking_ports(caller).order_by("name", "pk")[:MAX_CHOICES])
    form = PortForm(
        request.POST or None,
        networks=networks,
        groups=_groups(caller, caller.project_id),
        own_project_id=caller.project_id,
        subnets_of=lambda network_id: _subnets(caller, network_id),
        is_admin=caller.is_admin,
        initial={"network": request.GET.get("network", "")},
    )
    port = tagged_form_saved(
        request,
        caller,
        form,
        lambda: ports_create(caller=caller, requests=[form.request(caller)])[0],
        lambda made: gettext("%(name)s was created. Now an instance can have it.") % {"name": made},
        kind=TaggedKind.PORT,
    )
    if port is not None:
        return redirect("port", port_id=port.pk)
    return show(request, caller, FORM, SECTION, form=form, networks=networks)


@require_http_methods(["GET", "HEAD", "POST"])
@page("ports:write")
def port_edit(request: HttpRequest, caller: Caller, port_id: uuid.UUID) -> HttpResponse:
    """Another name, addresses, groups, pairs, switches or tags."""
    port = port_get(caller=caller, port_id=port_id)
    if not owns_tags(caller, port):
        raise Forbidden(
            gettext("Port %(port)s is another project's: only that and administrators change it.") % {"port": port}
        )
    form = _edit_form(request, caller, port)
    saved = tagged_form_saved(
        request,
        caller,
        form,
        lambda: port_update(caller=caller, port_id=port_id, changes=changes) if (changes := form.changes()) else port,
        changed_text,
        kind=TaggedKind.PORT,
        tags_before=port.tags,
    )
    if saved is not None:
        return redirect("port", port_id=port_id)
    return show(request, caller, FORM, SECTION, form=form, port=port)


def _edit_form(request: HttpRequest, caller: Caller, port: Any) -> PortNameForm:
    """With what the port has now. What routers and floating addresses made for themselves has a name alone."""
    initial = {"name": port.name, "description": port.description, "tags": tags_text(port.tags)}
    if port.owner in OF_NETWORKS:
        return PortNameForm(request.POST or None, initial=initial)
    own = subnets_visible(caller).filter(network=port.network_id)
    automatic = {subnet.pk for subnet in own if subnet.is_automatic}
    chosen = [row.address for row in port.allocations.all() if row.subnet_id not in automatic]
    initial |= {
        "fixed_addresses": tuple(chosen) or (NO_ADDRESS,),
        "security_groups": [str(group.pk) for group in port.groups.all()],
        "allowed_pairs": tuple(AddressPair(one["address"], one["mac"]) for one in port.allowed_pairs),
        "has_security": port.has_security,
        "is_enabled": port.is_enabled,
        "mac": port.mac,
        "resource_request": resource_groups(port.resource_request),
    }
    form = PortEditForm(
        request.POST or None,
        groups=_groups(caller, port.project_id),
        subnets_of=lambda network_id: _subnets(caller, network_id),
        network_id=port.network_id,
        is_admin=caller.is_admin,
        initial=initial,
    )
    if port.hypervisor_network:  # which gives addresses itself
        del form.fields["fixed_addresses"]
    return form


@require_POST
@page("ports:write")
def port_delete_view(request: HttpRequest, caller: Caller, port_id: uuid.UUID) -> HttpResponse:
    """Remove one that nothing uses."""
    port = port_get(caller=caller, port_id=port_id)
    port_delete(caller=caller, port_id=port_id)
    messages.success(request, gettext("%(name)s was deleted.") % {"name": port}, extra_tags="good")
    return redirect("ports")


def _groups(caller: Caller, project_id: uuid.UUID | None) -> list[Any]:
    """Those that a port of this project may be in."""
    return list(groups_visible(caller=caller).filter(project=project_id).order_by("name", "pk")[:MAX_CHOICES])


def _subnets(caller: Caller, network_id: uuid.UUID) -> dict[str, uuid.UUID]:
    return dict(subnets_visible(caller).filter(network=network_id).order_by("created_at").values_list("cidr", "pk"))
