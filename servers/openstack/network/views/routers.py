"""Routers and their interfaces."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from controlplane.openstack.answers import Empty, JsonAnswer
from servers.models import Router
from servers.networks.selectors.routers import router_get, routers_visible
from servers.networks.selectors.subnets import subnet_get
from servers.networks.services.router_legs import router_interface_add, router_interface_remove
from servers.networks.services.routers import router_create, router_delete, router_routes_change, router_update
from servers.openstack.network.bodies import renamed
from servers.openstack.network.call import Document, NetworkCall, id_in_path
from servers.openstack.network.faults import invalid_input
from servers.openstack.network.listing import BY_TAGS, Condition, Listing, flags, ids, listed, texts
from servers.openstack.network.routing_json import interface_json, router_json
from servers.openstack.network.schemas_routing import EXTRA_ROUTES, ROUTER_CHANGE, ROUTER_CREATE, ROUTER_INTERFACE
from servers.openstack.network.shapes_routing import (
    InterfaceJson,
    NewRouterShown,
    NewRoutersShown,
    RouterShown,
    RoutersShown,
)

_NAMES = {"name": "name", "description": "description", "admin_state_up": "is_enabled"}


def _in_states(values: Sequence[str]) -> Q:
    fine = Q(problem="")
    return (fine if "ACTIVE" in values else Q(pk__in=[])) | (~fine if "ERROR" in values else Q(pk__in=[]))


_FILTERS: dict[str, Condition] = {
    **BY_TAGS,
    "id": ids("pk"),
    "name": texts("name"),
    "description": texts("description"),
    "project_id": ids("project_id"),
    "tenant_id": ids("project_id"),
    "admin_state_up": flags("is_enabled"),
    "status": _in_states,
}
LISTING: Listing[Router] = Listing(
    "routers",
    "routers",
    _FILTERS,
    {
        "id": "pk",
        "name": "name",
        "project_id": "project_id",
        "admin_state_up": "is_enabled",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def routers_list(call: NetworkCall) -> JsonAnswer[RoutersShown]:
    """Those of the project; all for administrators."""
    page = listed(call, LISTING, routers_visible(caller=call.caller), lambda found: [*map(router_json, found)])
    content: RoutersShown = {"routers": page.shown}
    if page.links:
        content["routers_links"] = page.links
    return call.answer(content)


def router_add(call: NetworkCall) -> JsonAnswer[NewRouterShown | NewRoutersShown]:
    """A new router, with a gateway where an external network is named."""

    def make(asked: Sequence[Document]) -> list[Router]:
        return [
            router_create(
                caller=call.caller,
                project_id=call.project_of(each),
                **renamed(each, _NAMES),
                **_gateway(call, each.get("external_gateway_info") or {}),
            )
            for each in asked
        ]

    things = call.created(ROUTER_CREATE, make, lambda made: [*map(router_json, made)])
    if things.is_many:
        return call.answer({"routers": things.shown}, status=201)
    return call.answer({"router": things.shown[0]}, status=201)


def _gateway(call: NetworkCall, asked: Mapping[str, Any]) -> Document:
    """As services take it. Raises Fault 400 for an address that is not of the subnet that it is said to be of."""
    if not asked:
        return {}
    values: Document = {"external_network": UUID(asked["network_id"])}
    if "enable_snat" in asked:
        values["has_snat"] = asked["enable_snat"]
    for each in asked.get("external_fixed_ips", ()):
        values["gateway_address"] = each["ip_address"]
        if "subnet_id" in each:
            cidr = subnet_get(caller=call.caller, subnet_id=UUID(each["subnet_id"])).cidr
            if not _is_within(each["ip_address"], cidr):
                raise invalid_input("external_fixed_ips", f"{each['ip_address']} is not in {cidr}.")
    return values


def _is_within(address: str, cidr: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(cidr)
    except ValueError:
        return False


def router_show(call: NetworkCall, router_id: str) -> JsonAnswer[RouterShown]:
    """One router."""
    row = router_get(caller=call.caller, router_id=id_in_path(router_id, "RouterNotFound", "Router"))
    return call.answer({"router": call.chosen(router_json(row))})


def router_change(call: NetworkCall, router_id: str) -> JsonAnswer[RouterShown]:
    """What is left out stays; `external_gateway_info` empty or null takes the gateway away."""
    known = id_in_path(router_id, "RouterNotFound", "Router")
    asked = call.body(ROUTER_CHANGE)["router"]
    changes = renamed(asked, {**_NAMES, "routes": "routes"})
    if "routes" in changes:
        changes["routes"] = changes["routes"] or []
    if "external_gateway_info" in asked:
        changes |= _gateway(call, asked["external_gateway_info"] or {}) or {"external_network": None}
    row = router_update(caller=call.caller, router_id=known, changes=changes)
    return call.answer({"router": call.chosen(router_json(row))})


def routes_add(call: NetworkCall, router_id: str) -> JsonAnswer[RouterShown]:
    """Static routes beside those that it has."""
    return _routes_changed(call, router_id, "add")


def routes_remove(call: NetworkCall, router_id: str) -> JsonAnswer[RouterShown]:
    """Static routes less, as far as it has them."""
    return _routes_changed(call, router_id, "remove")


def _routes_changed(call: NetworkCall, router_id: str, way: str) -> JsonAnswer[RouterShown]:
    known, asked = id_in_path(router_id, "RouterNotFound", "Router"), call.body(EXTRA_ROUTES)["router"]["routes"]
    row = router_routes_change(caller=call.caller, router_id=known, **{way: asked})
    return call.answer({"router": call.chosen(router_json(row))})


def router_remove(call: NetworkCall, router_id: str) -> Empty:
    """Gone, if it has no interfaces."""
    router_delete(caller=call.caller, router_id=id_in_path(router_id, "RouterNotFound", "Router"))
    return call.empty()


def interface_add(call: NetworkCall, router_id: str) -> JsonAnswer[InterfaceJson]:
    """Joins a subnet at its gateway's address, or with a port."""
    known, asked = id_in_path(router_id, "RouterNotFound", "Router"), _interface_asked(call)
    port = router_interface_add(caller=call.caller, router_id=known, **asked)
    return call.answer(interface_json(router_get(caller=call.caller, router_id=known), port))


def interface_remove(call: NetworkCall, router_id: str) -> JsonAnswer[InterfaceJson]:
    """Leaves a subnet; its port goes, and is shown as it was."""
    known, asked = id_in_path(router_id, "RouterNotFound", "Router"), _interface_asked(call)
    leg = router_interface_remove(caller=call.caller, router_id=known, **asked)
    return call.answer(interface_json(router_get(caller=call.caller, router_id=known), leg))


def _interface_asked(call: NetworkCall) -> dict[str, UUID]:
    asked = call.body(ROUTER_INTERFACE)
    return {name: UUID(value) for name, value in asked.items()}
