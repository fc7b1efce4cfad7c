"""What routers may be asked for. Values only."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from computeagent.protocol.networks import HostRoute
from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons

MAX_ROUTES = 30
"""Neutron's max_routes."""


def overlap_between(cidr: str, others: Mapping[str, str]) -> str:
    """The first of the others ({what it is called: its CIDR}) that has addresses of this one, by name; empty: none."""
    network = ipaddress.ip_network(cidr)
    for name, other_cidr in others.items():
        other = ipaddress.ip_network(other_cidr)
        if network.version == other.version and network.overlaps(other):
            return name
    return ""


def routes_canonical(routes: object) -> tuple[list[HostRoute], Reasons]:
    """The routes in their canonical form, none twice; or what is wrong with them."""
    if not isinstance(routes, Sequence) or isinstance(routes, str):
        return [], [_("Must be a list of objects with destination and nexthop.")]
    if len(routes) > MAX_ROUTES:
        return [], [_("Are {count}; a router has at most {max_routes}.", count=len(routes), max_routes=MAX_ROUTES)]
    found: dict[HostRoute, None] = {}
    reasons: Reasons = []
    for each in routes:
        try:
            found[_route(each)] = None
        except ValueError as error:
            reasons.append(error.args[0])
    return list(found), reasons


def _route(value: Any) -> HostRoute:
    if not isinstance(value, Mapping) or set(value) != {"destination", "nexthop"}:
        raise ValueError(_("{value!r:.80} is no object of destination and nexthop.", value=value))
    destination, nexthop = str(value["destination"]), str(value["nexthop"])
    try:
        network = ipaddress.ip_network(destination, strict=False)
        address = ipaddress.ip_address(nexthop)
    except ValueError:
        reason = _("{destination:.60} over {nexthop:.60} is no route.", destination=destination, nexthop=nexthop)
        raise ValueError(reason) from None
    if "%" in destination or "%" in nexthop or network.version != address.version:
        raise ValueError(
            _("{first:.60} and {second:.60} are not of one IP version.", first=destination, second=nexthop)
        )
    return HostRoute(str(network), str(address))


def route_reasons(routes: Sequence[HostRoute], *, cidrs: Sequence[str], own: Sequence[str]) -> Reasons:
    """A next hop is in a subnet of the router's, and not its own address there (Neutron's rules)."""
    networks = [ipaddress.ip_network(cidr) for cidr in cidrs]
    reasons = []
    for route in routes:
        nexthop = ipaddress.ip_address(route.nexthop)
        if not any(nexthop in network for network in networks):
            reasons.append(_("The next hop {nexthop} is in no subnet of the router.", nexthop=route.nexthop))
        elif route.nexthop in own:
            reasons.append(_("The next hop {nexthop} is the router itself.", nexthop=route.nexthop))
    return reasons


def routes_over(routes: Sequence[Mapping[str, str]], *, lost: str) -> list[str]:
    """The destinations whose next hop is in the subnet that the router loses."""
    network = ipaddress.ip_network(lost)
    return [route["destination"] for route in routes if ipaddress.ip_address(route["nexthop"]) in network]
