"""How many addresses are in use, which zones there are, and which hosts carry networks."""

from collections.abc import Sequence
from typing import Any, cast

from django.db.models import Prefetch, Q
from orjson import Fragment

from controlplane.openstack.answers import JsonAnswer, JsonText
from scheduling.fleet.selectors.zones import zone_list
from servers.models import Network, Subnet
from servers.networks.domain.addresses import ranges_of
from servers.networks.selectors.networks import network_get, networks_visible
from servers.networks.selectors.subnets import subnets_shown
from servers.openstack.network.call import NetworkCall, id_in_path, project_json
from servers.openstack.network.listing import Condition, Listing, ids, listed, numbers, texts
from servers.openstack.network.shapes import (
    NetworkUseJson,
    NetworkUseShown,
    NetworkUsesShown,
    SubnetUseJson,
    ZoneJson,
    ZonesShown,
)


def _with_version(values: Sequence[str]) -> Q:
    return Q(pk__in=Subnet.objects.filter(numbers("ip_version")(values)).values("network_id"))


_FILTERS: dict[str, Condition] = {
    "network_id": ids("pk"),
    "network_name": texts("name"),
    "project_id": ids("project_id"),
    "tenant_id": ids("project_id"),
    "ip_version": _with_version,
}
LISTING: Listing[Network] = Listing(
    "network_ip_availabilities",
    "network-ip-availabilities",
    _FILTERS,
    {"network_id": "pk", "network_name": "name"},
)


def availability_list(call: NetworkCall) -> JsonAnswer[NetworkUsesShown]:
    """Of the networks whose subnets the caller sees; those of one IP version where that is asked for."""
    subnets = subnets_shown(call.caller)
    if versions := call.query.getlist("ip_version"):
        subnets = subnets.filter(ip_version__in=[text for text in versions if text in ("4", "6")])
    rows = networks_visible(call.caller).prefetch_related(Prefetch("subnets", queryset=subnets))
    page = listed(call, LISTING, rows, lambda found: [_availability(call, row) for row in found])
    content: NetworkUsesShown = {"network_ip_availabilities": page.shown}
    if page.links:
        content["network_ip_availabilities_links"] = page.links
    return call.answer(content)


def availability_show(call: NetworkCall, network_id: str) -> JsonAnswer[NetworkUseShown]:
    """Of one network."""
    known = id_in_path(network_id, "NetworkNotFound", "Network")
    row = network_get(caller=call.caller, network_id=known)
    shown = _availability(call, row, subnets_shown(call.caller).filter(network=row))
    return call.answer({"network_ip_availability": call.chosen(shown)})


def _availability(call: NetworkCall, network: Network, subnets: Any = None) -> NetworkUseJson:
    found = list(network.subnets.all() if subnets is None else subnets)
    return {
        "network_id": str(network.pk),
        "network_name": network.name,
        **project_json(network.project_id),
        "total_ips": _number(sum(_total(subnet) for subnet in found)),
        "used_ips": sum(subnet.addresses_used for subnet in found),
        "subnet_ip_availability": [_of_subnet(subnet) for subnet in found],
    }


def _of_subnet(subnet: Any) -> SubnetUseJson:
    return {
        "subnet_id": str(subnet.pk),
        "subnet_name": subnet.name,
        "cidr": subnet.cidr,
        "ip_version": subnet.ip_version,
        "total_ips": _number(_total(subnet)),
        "used_ips": subnet.addresses_used,
    }


def _total(subnet: Any) -> int:
    return sum(pool.size for pool in ranges_of(subnet.pools))


def _number(value: int) -> JsonText[int]:
    """A subnet of IPv6 has more addresses than the encoder writes numbers of."""
    return cast("JsonText[int]", Fragment(str(value)))


def zones_list(call: NetworkCall) -> JsonAnswer[ZonesShown]:
    """The zones of hosts: whatever a zone's hosts carry, networks and routers among it, is of that zone."""
    found: list[ZoneJson] = [
        {"name": zone.name, "resource": resource, "state": "available" if zone.is_available else "unavailable"}
        for zone in zone_list()
        for resource in ("network", "router")
    ]
    return call.answer({"availability_zones": found})
