"""Pages of routers: what they join, and what they lead to."""

import uuid
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.form_saved import changed_text, form_saved
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.networks.pairs_of_lines import pairs_of_routes, routes_field, routes_of_pairs
from controlplane.dashboard.networks.router_listing import ROUTERS
from controlplane.dashboard.networks.tags import tagged_form_saved, tags_field
from controlplane.dashboard.networks.topology import MAX_CHILDREN, drawing
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from servers.networks.domain.tags import tags_text
from servers.networks.selectors.network_topology import router_topology
from servers.networks.selectors.networks import networks_visible, sees_all
from servers.networks.selectors.routers import gateway_of, legs_of, router_get, router_hosts, router_needs
from servers.networks.selectors.subnets import subnets_visible
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.router_hosts import router_move
from servers.networks.services.router_legs import router_interface_add, router_interface_remove
from servers.networks.services.routers import router_create, router_delete, router_update

SECTION = "routers"
MAX_CHOICES = 500


class RouterForm(forms.Form):
    """Name, and the network outside."""

    name = forms.CharField(label=gettext_lazy("Name"), strip=False, help_text=gettext_lazy("Up to 255 characters."))
    description = forms.CharField(label=gettext_lazy("Description"), required=False)
    external_network = forms.ChoiceField(
        label=gettext_lazy("Leads out by"),
        required=False,
        help_text=gettext_lazy("Where its gateway is. Floating addresses are of it."),
    )
    has_snat = forms.BooleanField(
        label=gettext_lazy("Guests without a floating address go out under the gateway's own"),
        required=False,
        initial=True,
    )
    is_enabled = forms.BooleanField(label=gettext_lazy("Enabled: it passes traffic"), required=False, initial=True)
    routes = routes_field(
        gettext_lazy("Beyond its networks: 10.9.0.0/16 10.1.0.7 leads there over that address, which it must reach.")
    )
    tags = tags_field()

    def __init__(
        self, data: Any = None, *, outside: list[Any], switches_snat: bool, is_new: bool = False, **more: Any
    ) -> None:
        super().__init__(data, **more)
        if is_new:  # it reaches nothing yet
            del self.fields["routes"]
        self.fields["has_snat"].disabled = not switches_snat
        field: Any = self.fields["external_network"]
        nothing = gettext("nothing: it joins networks inside only")
        field.choices = [("", nothing), *((str(one.pk), one.name) for one in outside)]

    def values(self) -> dict[str, Any]:
        """What the filled-in form says, but for the tags."""
        outside = self.cleaned_data["external_network"]
        said = {name: value for name, value in self.cleaned_data.items() if name != "tags"}
        if "routes" in said:
            said["routes"] = [asdict(route) for route in routes_of_pairs(said["routes"])]
        return {**said, "external_network": uuid.UUID(outside) if outside else None}


class LegForm(forms.Form):
    """A subnet that the router joins."""

    subnet = forms.ChoiceField(
        label=gettext_lazy("Subnet"), help_text=gettext_lazy("The router answers at its gateway's address.")
    )

    def __init__(self, data: Any = None, *, subnets: list[Any], **more: Any) -> None:
        super().__init__(data, **more)
        field: Any = self.fields["subnet"]
        field.choices = [(str(one.pk), f"{one.network.name}: {one.cidr}") for one in subnets]


class MoveForm(forms.Form):
    """Where a router of bridges is to live."""

    host = forms.ChoiceField(label=gettext_lazy("Host"), required=False)

    def __init__(self, data: Any = None, *, hosts: Iterable[str], **more: Any) -> None:
        super().__init__(data, **more)
        field: Any = self.fields["host"]
        field.choices = [("", gettext("the best of the others")), *((one, one) for one in hosts)]


@require_safe
@page("routers:read")
def router_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin."""
    return list_response(request, caller, ROUTERS)


@require_safe
@page("routers:read")
def router_detail(request: HttpRequest, caller: Caller, router_id: uuid.UUID) -> HttpResponse:
    """One router: its gateway, its networks, a drawing."""
    return _detail_shown(request, caller, router_id, None)


@require_http_methods(["GET", "HEAD", "POST"])
@page("routers:write")
def router_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A router that joins nothing yet."""
    form = RouterForm(request.POST or None, outside=_outside(caller), switches_snat=sees_all(caller), is_new=True)
    router = tagged_form_saved(
        request,
        caller,
        form,
        lambda: router_create(caller=caller, **form.values()),
        lambda made: gettext("%(name)s was created. Join networks to it.") % {"name": made.name},
        kind=TaggedKind.ROUTER,
    )
    if router is not None:
        return redirect("router", router_id=router.pk)
    return show(request, caller, "dashboard/networks/router_form.html", SECTION, form=form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("routers:write")
def router_edit(request: HttpRequest, caller: Caller, router_id: uuid.UUID) -> HttpResponse:
    """Another name, gateway or switch, or other tags."""
    router = router_get(caller=caller, router_id=router_id)
    initial = {name: getattr(router, name) for name in ("name", "description", "has_snat", "is_enabled")}
    initial |= {"external_network": str(router.external_network_id or ""), "tags": tags_text(router.tags)}
    initial["routes"] = pairs_of_routes(router.routes)
    form = RouterForm(request.POST or None, outside=_outside(caller), switches_snat=sees_all(caller), initial=initial)

    def write() -> Any:
        changes = form.values()
        if changes["external_network"] == router.external_network_id:
            del changes["external_network"]
        if "routes" not in form.changed_data:
            del changes["routes"]
        return router_update(caller=caller, router_id=router_id, changes=changes)

    saved = tagged_form_saved(
        request, caller, form, write, changed_text, kind=TaggedKind.ROUTER, tags_before=router.tags
    )
    if saved is not None:
        return redirect("router", router_id=router.pk)
    return show(request, caller, "dashboard/networks/router_form.html", SECTION, form=form, router=router)


@require_POST
@page("routers:write")
def router_delete_view(request: HttpRequest, caller: Caller, router_id: uuid.UUID) -> HttpResponse:
    """Remove one that joins nothing."""
    router = router_get(caller=caller, router_id=router_id)
    router_delete(caller=caller, router_id=router_id)
    said = gettext("%(name)s was deleted.") % {"name": router.name or router.pk}
    messages.success(request, said, extra_tags="good")
    return redirect("routers")


@require_POST
@page("routers:move")
def router_move_view(request: HttpRequest, caller: Caller, router_id: uuid.UUID) -> HttpResponse:
    """Let another host carry it; a refusal stands in the form."""
    router = router_get(caller=caller, router_id=router_id)
    form = MoveForm(request.POST, hosts=_other_hosts(router))
    moved = form_saved(
        request,
        form,
        lambda: router_move(caller=caller, router_id=router_id, host=form.cleaned_data["host"]),
        lambda row: gettext("%(name)s lives on %(host)s now.") % {"name": row, "host": row.host},
    )
    if moved is not None:
        return redirect("router", router_id=router_id)
    return _detail_shown(request, caller, router_id, None, move=form)


@require_POST
@page("routers:write")
def router_leg_add(request: HttpRequest, caller: Caller, router_id: uuid.UUID) -> HttpResponse:
    """Join one more subnet; a refusal stands in the form."""
    form = LegForm(request.POST, subnets=_subnets(caller))
    port = form_saved(
        request,
        form,
        lambda: router_interface_add(
            caller=caller, router_id=router_id, subnet_id=uuid.UUID(form.cleaned_data["subnet"])
        ),
        lambda made: (
            gettext("%(network)s is joined, at %(address)s.")
            % {"network": made.network_name, "address": made.addresses[0]}
        ),
    )
    if port is not None:
        return redirect("router", router_id=router_id)
    return _detail_shown(request, caller, router_id, form)


@require_POST
@page("routers:write")
def router_leg_remove(request: HttpRequest, caller: Caller, router_id: uuid.UUID, port_id: uuid.UUID) -> HttpResponse:
    """Leave a network."""
    router_interface_remove(caller=caller, router_id=router_id, port_id=port_id)
    messages.success(request, gettext("The router left the network."), extra_tags="good")
    return redirect("router", router_id=router_id)


def _outside(caller: Caller) -> list[Any]:
    return list(networks_visible(caller).filter(is_external=True).order_by("name", "pk")[:MAX_CHOICES])


def _subnets(caller: Caller) -> list[Any]:
    """Those that a router can answer in: not outside, with a gateway."""
    rows = subnets_visible(caller).filter(network__is_external=False, gateway__isnull=False)
    return list(rows.select_related("network").order_by("network__name", "cidr")[:MAX_CHOICES])


def _other_hosts(router: Any) -> list[str]:
    """Those that the router is not on, whether they can carry it or not: the service says why not."""
    return sorted(host.name for host in router_hosts() if host.name != router.host)


def _move_form(caller: Caller, router: Any) -> MoveForm | None:
    """None for who may not move it, and for a router that lives on no single host."""
    may = allows(caller, "routers:move") and router_needs([router.pk])[router.pk].is_bridged
    return MoveForm(hosts=_other_hosts(router)) if may else None


def _detail_shown(
    request: HttpRequest,
    caller: Caller,
    router_id: uuid.UUID,
    form: LegForm | None,
    *,
    move: MoveForm | None = None,
) -> HttpResponse:
    router = router_get(caller=caller, router_id=router_id)
    gateway, legs = gateway_of(router), legs_of(router)
    tree = router_topology(router, limit=MAX_CHILDREN)
    context = {
        "router": router,
        "gateway": gateway,
        "legs": legs,
        "drawing": drawing(tree, here=router.pk),
        "form": form or LegForm(subnets=_subnets(caller)),
        "is_open": form is not None,
        "move": move or _move_form(caller, router),
    }
    return show(request, caller, "dashboard/networks/router_detail.html", SECTION, **context)
