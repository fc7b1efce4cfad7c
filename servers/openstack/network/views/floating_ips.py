"""Floating addresses."""

from collections.abc import Sequence
from uuid import UUID

from controlplane.openstack.answers import Empty, JsonAnswer
from servers.models import FloatingIP
from servers.networks.domain.names import FloatingStatus
from servers.networks.selectors.floating_ips import floating_ip_get, floating_ips_visible
from servers.networks.services.floating_ips import Target, floating_ip_create, floating_ip_delete, floating_ip_update
from servers.openstack.network.call import Document, NetworkCall, id_in_path
from servers.openstack.network.faults import invalid_input
from servers.openstack.network.listing import BY_TAGS, Condition, Listing, addresses, ids, listed, texts
from servers.openstack.network.routing_json import floating_ip_json
from servers.openstack.network.schemas_routing import FLOATING_IP_CHANGE, FLOATING_IP_CREATE
from servers.openstack.network.shapes_routing import (
    FloatingIpShown,
    FloatingIpsShown,
    NewFloatingIpShown,
    NewFloatingIpsShown,
)

_KIND, _WHAT = "FloatingIPNotFound", "Floating IP"
_STATES = [FloatingStatus.DOWN.value, FloatingStatus.BUILD.value]
_FILTERS: dict[str, Condition] = {
    **BY_TAGS,
    "id": ids("pk"),
    "description": texts("description"),
    "project_id": ids("project_id"),
    "tenant_id": ids("project_id"),
    "floating_network_id": ids("network_id"),
    "floating_ip_address": addresses("address"),
    "fixed_ip_address": addresses("fixed_address"),
    "port_id": ids("port_id"),
    "router_id": ids("router_id"),
    # What is shown as DOWN may be on its way.
    "status": lambda values: texts("status")([*values, *(_STATES if "DOWN" in values else [])]),
}
LISTING: Listing[FloatingIP] = Listing(
    "floatingips",
    "floatingips",
    _FILTERS,
    {
        "id": "pk",
        "project_id": "project_id",
        "floating_network_id": "network_id",
        "floating_ip_address": "address",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def floating_ips_list(call: NetworkCall) -> JsonAnswer[FloatingIpsShown]:
    """Those of the project; all for administrators."""
    rows = floating_ips_visible(caller=call.caller).select_related("port__router")
    page = listed(call, LISTING, rows, lambda found: [*map(floating_ip_json, found)])
    content: FloatingIpsShown = {"floatingips": page.shown}
    if page.links:
        content["floatingips_links"] = page.links
    return call.answer(content)


def floating_ip_add(call: NetworkCall) -> JsonAnswer[NewFloatingIpShown | NewFloatingIpsShown]:
    """A new one, put before a port where one is named."""

    def make(asked: Sequence[Document]) -> list[FloatingIP]:
        return [
            floating_ip_create(
                caller=call.caller,
                network_id=UUID(each["floating_network_id"]),
                address=each.get("floating_ip_address") or "",
                target=_target(each, None),
                description=each.get("description", ""),
                project_id=call.project_of(each),
            )
            for each in asked
        ]

    things = call.created(FLOATING_IP_CREATE, make, lambda made: [*map(floating_ip_json, made)])
    if things.is_many:
        return call.answer({"floatingips": things.shown}, status=201)
    return call.answer({"floatingip": things.shown[0]}, status=201)


def _target(asked: Document, now: UUID | None) -> Target | None:
    """What it is to stand for: a port that is named, or the one that it stands for `now`. Raises Fault 400."""
    port_id = UUID(asked["port_id"]) if asked.get("port_id") else None
    if port_id is None and "port_id" not in asked:
        port_id = now
    fixed = asked.get("fixed_ip_address") or ""
    if fixed and port_id is None:
        raise invalid_input("fixed_ip_address", "It goes with a port.")
    return None if port_id is None else Target(port_id, fixed)


def floating_ip_show(call: NetworkCall, floating_ip_id: str) -> JsonAnswer[FloatingIpShown]:
    """One floating address."""
    row = floating_ip_get(caller=call.caller, floating_ip_id=id_in_path(floating_ip_id, _KIND, _WHAT))
    return call.answer({"floatingip": call.chosen(floating_ip_json(row))})


def floating_ip_change(call: NetworkCall, floating_ip_id: str) -> JsonAnswer[FloatingIpShown]:
    """Puts it before another port, or with `port_id` null before none."""
    known = id_in_path(floating_ip_id, _KIND, _WHAT)
    asked = call.body(FLOATING_IP_CHANGE)["floatingip"]
    now = floating_ip_get(caller=call.caller, floating_ip_id=known)
    row = floating_ip_update(
        caller=call.caller,
        floating_ip_id=known,
        description=asked.get("description"),
        moves="port_id" in asked or "fixed_ip_address" in asked,
        target=_target(asked, now.port_id),
    )
    return call.answer({"floatingip": call.chosen(floating_ip_json(row))})


def floating_ip_remove(call: NetworkCall, floating_ip_id: str) -> Empty:
    """Given back, from whatever it stood for."""
    floating_ip_delete(caller=call.caller, floating_ip_id=id_in_path(floating_ip_id, _KIND, _WHAT))
    return call.empty()
