"""What a subnet may be: pure rules, by Neutron's limits."""

import ipaddress
import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from computeagent.protocol.networks import HostRoute, Ipv6Mode
from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, Reasons, problems_found, text_reasons
from servers.networks.domain.addresses import (
    MAPPED_NETWORK,
    AddressRange,
    IpNetwork,
    address_number,
    address_text,
    host_range,
    ranges_of,
)
from servers.networks.domain.ports import address_canonical, address_reasons

MAX_DNS_SERVERS = 5
"""Neutron's max_dns_nameservers."""
MAX_ROUTES = 20
"""Neutron's max_subnet_host_routes."""
MAX_POOLS = 64
EUI64_PREFIX = 64
"""RFC 4291, 2.5.1: the half of an address that follows from a MAC."""
FIRST_HOST = "first"
"""The gateway where none is named: the first address that a host may have."""

Pool = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SubnetRequest:
    """A subnet that is wanted. `gateway` None: it has none. `pools` None: all addresses but the gateway's. `ipv6_mode`:
    see Ipv6Mode; empty: by DHCP.
    """

    network_id: uuid.UUID
    cidr: str
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    name: str = ""
    description: str = ""
    gateway: str | None = FIRST_HOST
    has_dhcp: bool = True
    ipv6_mode: str = ""
    pools: tuple[Pool, ...] | None = None
    dns_servers: tuple[str, ...] = ()
    routes: tuple[HostRoute, ...] = ()


def cidr_reasons(cidr: object) -> Reasons:
    """A network in CIDR form with no bit set behind its prefix, of addresses that guests can have."""
    try:
        if not isinstance(cidr, str) or "%" in cidr or "/" not in cidr:
            raise ValueError(cidr)
        network = ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return [_("{cidr!r:.60} is no range of addresses such as 10.1.0.0/24 or fd00:1::/64.", cidr=cidr)]
    if _strict(cidr) is None:
        return [
            _("{cidr} has bits behind its prefix; {network} is the range that it is in.", cidr=cidr, network=network)
        ]
    if not network.prefixlen:
        return [_("Must not be all addresses that there are.")]
    unusable = _unusable(network)
    return [_("{cidr} has {unusable}, which no guest can have.", cidr=cidr, unusable=unusable)] if unusable else []


def _strict(cidr: str) -> IpNetwork | None:
    try:
        return ipaddress.ip_network(cidr)
    except ValueError:
        return None


def _unusable(network: IpNetwork) -> str:
    """Addresses of the range that mean something else; empty where there are none."""
    kinds: Mapping[str, Sequence[str]] = {
        "loopback addresses": ("127.0.0.0/8", "::1/128"),
        "multicast addresses": ("224.0.0.0/4", "ff00::/8"),
        "addresses of this host (0.0.0.0/8)": ("0.0.0.0/8", "::/128"),
        "reserved addresses": ("240.0.0.0/4",),
        "link-local addresses, among them the metadata service's": ("169.254.0.0/16", "fe80::/10"),
        "addresses that stand for IPv4": (str(MAPPED_NETWORK),),
    }
    for kind, ranges in kinds.items():
        if any(_overlap(network, ipaddress.ip_network(each)) for each in ranges):
            return kind
    return ""


def _overlap(one: IpNetwork, other: IpNetwork) -> bool:
    if isinstance(one, ipaddress.IPv4Network):
        return isinstance(other, ipaddress.IPv4Network) and one.overlaps(other)
    return isinstance(other, ipaddress.IPv6Network) and one.overlaps(other)


def overlapping(cidr: str, others: Sequence[str]) -> list[str]:
    """Those of the other ranges that share an address with this one."""
    network = ipaddress.ip_network(cidr)
    return [each for each in others if _overlap(network, ipaddress.ip_network(each))]


def gateway_default(cidr: str) -> str:
    """The first address that a host may have."""
    return address_text(host_range(cidr).first)


def pools_default(cidr: str, gateway: str | None) -> tuple[Pool, ...]:
    """All that hosts may have, without the gateway."""
    whole = host_range(cidr)
    numbers = [address_number(gateway)] if gateway else []
    inside = [number for number in numbers if number in whole]
    if not inside:
        found = [whole]
    else:
        found = [AddressRange(whole.first, inside[0] - 1), AddressRange(inside[0] + 1, whole.last)]
    return tuple((address_text(one.first), address_text(one.last)) for one in found if one.first <= one.last)


def subnet_problems(request: SubnetRequest) -> Problems:
    """What is wrong with a subnet on its own, by field. `gateway` and `pools` are those that it is to have."""
    found = problems_found(
        {
            "name": text_reasons(request.name, maximum=255),
            "description": text_reasons(request.description, maximum=255),
            "cidr": cidr_reasons(request.cidr),
        }
    )
    if "cidr" in found:
        return found
    version = ipaddress.ip_network(request.cidr).version
    gateway = gateway_default(request.cidr) if request.gateway == FIRST_HOST else request.gateway
    gateway_wrong = _gateway_reasons(gateway, request.cidr)
    return found | problems_found(
        {
            "gateway": gateway_wrong,
            "ipv6_mode": _mode_reasons(request),
            "pools": _pools_reasons(request.pools or (), request.cidr, None if gateway_wrong else gateway),
            "dns_servers": _dns_reasons(request.dns_servers, version),
            "routes": routes_reasons(request.routes, version),
        }
    )


def _gateway_reasons(gateway: str | None, cidr: str) -> Reasons:
    if gateway is None:
        return []
    if wrong := address_reasons(gateway):
        return wrong
    if address_number(gateway) not in host_range(cidr):
        return [_("{gateway} is no address that a router could have in {cidr}.", gateway=gateway, cidr=cidr)]
    return []


def _mode_reasons(request: SubnetRequest) -> Reasons:
    """By Neutron's rules: a mode is of IPv6 with DHCP, and addresses that follow from a MAC need 64 bits."""
    mode, network = request.ipv6_mode, ipaddress.ip_network(request.cidr)
    if not mode:
        return []
    if mode not in list(Ipv6Mode):
        modes = ", ".join(Ipv6Mode)
        return [_("{mode!r:.40} is no way to get addresses; it must be one of {modes}.", mode=mode, modes=modes)]
    if network.version == 4:
        return [_("{mode} is of IPv6, and {cidr} is of IPv4.", mode=mode, cidr=request.cidr)]
    if mode != Ipv6Mode.STATEFUL and not request.has_dhcp:
        return [_("{mode} goes with DHCP: without it guests are told of no prefix.", mode=mode)]
    if mode != Ipv6Mode.STATEFUL and network.prefixlen != EUI64_PREFIX:
        return [_("Guests make their addresses of a /64 alone, and {cidr} is none.", cidr=request.cidr)]
    return []


def _pools_reasons(pools: Sequence[Pool], cidr: str, gateway: str | None) -> Reasons:
    if len(pools) > MAX_POOLS:
        return [_("Are {count}; at most {max_pools} are allowed.", count=len(pools), max_pools=MAX_POOLS)]
    if wrong := [reason for pool in pools for end in pool for reason in address_reasons(end)]:
        return wrong
    whole, reasons = host_range(cidr), []
    for first, last in pools:
        if address_number(first) > address_number(last):
            reasons.append(_("{first} comes after {last}.", first=first, last=last))
        elif address_number(first) not in whole or address_number(last) not in whole:
            reasons.append(
                _("{first} to {last} is not within what hosts may have of {cidr}.", first=first, last=last, cidr=cidr)
            )
        elif gateway and address_number(first) <= address_number(gateway) <= address_number(last):
            reasons.append(
                _("{first} to {last} has the gateway {gateway} in it.", first=first, last=last, gateway=gateway)
            )
    if reasons:
        return reasons
    ordered = ranges_of(pools)
    for one, following in itertools.pairwise(ordered):
        if following.first <= one.last:
            reasons.append(_("Two of them have {address_text}.", address_text=address_text(following.first)))
    return reasons


def _dns_reasons(servers: Sequence[str], version: int) -> Reasons:
    if len(servers) > MAX_DNS_SERVERS:
        return [
            _(
                "Are {count}; at most {max_dns_servers} are allowed.",
                count=len(servers),
                max_dns_servers=MAX_DNS_SERVERS,
            )
        ]
    if wrong := [reason for server in servers for reason in address_reasons(server)]:
        return wrong
    canonical = [address_canonical(server) for server in servers]
    other = [one for one in canonical if ipaddress.ip_address(one).version != version]
    reasons = [
        _("{one} is not of IPv{version}: guests of the subnet are not told of it.", one=one, version=version)
        for one in other
    ]
    return reasons if len(set(canonical)) == len(canonical) else [*reasons, _("One of them is there twice.")]


def routes_reasons(routes: Sequence[HostRoute], version: int) -> Reasons:
    """At most MAX_ROUTES, of one IP version, none twice."""
    if len(routes) > MAX_ROUTES:
        return [_("Are {count}; at most {max_routes} are allowed.", count=len(routes), max_routes=MAX_ROUTES)]
    reasons: Reasons = []
    for route in routes:
        if _strict(route.destination) is None or "%" in route.destination:
            reasons.append(
                _("{destination!r:.60} is no destination such as 10.9.0.0/16.", destination=route.destination)
            )
        elif wrong := address_reasons(route.nexthop):
            reasons += wrong
        elif {ipaddress.ip_network(route.destination).version, ipaddress.ip_address(route.nexthop).version} != {
            version
        }:
            reasons.append(
                _(
                    "{destination} by {nexthop} is not all of IPv{version}.",
                    destination=route.destination,
                    nexthop=route.nexthop,
                    version=version,
                )
            )
    if reasons:
        return reasons
    canonical = [route_canonical(route) for route in routes]
    return [] if len(set(canonical)) == len(canonical) else [_("One of them is there twice.")]


def route_canonical(route: HostRoute) -> HostRoute:
    """As rows have it."""
    return HostRoute(str(ipaddress.ip_network(route.destination)), address_canonical(route.nexthop))
