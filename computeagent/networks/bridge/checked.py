"""Ports, subnets and routers with their values parsed: nothing else of a document gets into a command or a file.

Raises ValueError that says what is wrong: the thing is left out then, which for a port means that it passes nothing.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_address,
    ip_interface,
    ip_network,
)
from uuid import UUID

from computeagent.networks.base import tap_name
from computeagent.networks.bridge.plan import Interface, Subnet
from computeagent.protocol.networks import FixedAddress, HostPort, Ipv6Mode, NetworkSpec, SubnetSpec
from controlplane.kernel.macs import eui64

MAX_SEGMENT = 2**24 - 1
MIN_MTU, MAX_MTU = 68, 65_000
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_HOSTNAME_LENGTH = 63


@dataclass(frozen=True, slots=True)
class CheckedSubnet:
    """A subnet with its values parsed."""

    id: str
    cidr: Subnet
    gateway: IPv4Address | IPv6Address | None
    has_dhcp: bool
    dns_servers: tuple[IPv4Address | IPv6Address, ...]
    routes: tuple[tuple[Subnet, IPv4Address | IPv6Address], ...]
    ipv6_mode: Ipv6Mode = Ipv6Mode.STATEFUL


@dataclass(frozen=True, slots=True)
class CheckedNetwork:
    """A network with its values parsed."""

    id: str
    mtu: int
    segment: int
    subnets: Mapping[str, CheckedSubnet]
    peers: tuple[IPv4Address | IPv6Address, ...]
    physical_network: str


@dataclass(frozen=True, slots=True)
class CheckedPort:
    """A port with its values parsed. `sources`: MACs and ranges that it may send from, which do not overlap.
    `hostname` is empty where the name is none that DHCP can tell.
    """

    id: str
    tap: str
    network_id: str
    mac: str
    addresses: tuple[tuple[str, IPv4Address | IPv6Address], ...]
    sources: tuple[tuple[str, Subnet], ...]
    group_ids: tuple[str, ...]
    has_security: bool
    is_enabled: bool
    hostname: str


def checked_id(text: str) -> str:
    """A UUID in its canonical form."""
    return str(UUID(text))


def checked_mac(text: str) -> str:
    """A MAC address of one card, with colons."""
    mac = text.lower().replace("-", ":")
    if not _MAC.fullmatch(mac):
        raise ValueError(f"{text!r} is no MAC address")
    if int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00":
        raise ValueError(f"the MAC address {mac} is not that of one card")
    return mac


def checked_address(text: str) -> IPv4Address | IPv6Address:
    """An address without a zone, which could be any text (RFC 4007)."""
    if "%" in text:
        raise ValueError(f"{text!r} is an address of one link")
    return ip_address(text)


def checked_range(text: str) -> Subnet:
    """A range of addresses; an address alone is a range of one."""
    if "%" in text:
        raise ValueError(f"{text!r} is an address of one link")
    return ip_network(text, strict=False)


def checked_network(spec: NetworkSpec) -> CheckedNetwork:
    """A network of the document."""
    if not MIN_MTU <= spec.mtu <= MAX_MTU:
        raise ValueError(f"an MTU of {spec.mtu} bytes cannot be had")
    if not 0 <= spec.segment <= MAX_SEGMENT:
        raise ValueError(f"{spec.segment} is no VXLAN id")
    subnets = [_subnet(each) for each in spec.subnets]
    return CheckedNetwork(
        id=checked_id(spec.id),
        mtu=spec.mtu,
        segment=spec.segment,
        subnets={each.id: each for each in subnets},
        peers=tuple(sorted({checked_address(each) for each in spec.peers}, key=str)),
        physical_network=spec.physical_network,
    )


@functools.lru_cache(maxsize=16_384)
def checked_port(spec: HostPort) -> CheckedPort:
    """A port of the document. Most are the same from one document to the next."""
    identifier, mac = checked_id(spec.id), checked_mac(spec.mac)
    addresses = tuple((checked_id(each.subnet_id), checked_address(each.address)) for each in spec.addresses)
    by_mac: dict[str, list[Subnet]] = {mac: [ip_network(address) for _, address in addresses]}
    for pair in spec.allowed_pairs:
        of_mac = by_mac.setdefault(checked_mac(pair.mac) if pair.mac else mac, [])
        of_mac.append(checked_range(pair.address))
    return CheckedPort(
        id=identifier,
        tap=tap_name(identifier),
        network_id=checked_id(spec.network_id),
        mac=mac,
        addresses=addresses,
        sources=tuple(source for of_mac, ranges in by_mac.items() for source in _sources(of_mac, ranges)),
        group_ids=tuple(sorted({checked_id(each) for each in spec.group_ids})),
        has_security=spec.has_security,
        is_enabled=spec.is_enabled,
        hostname=_hostname(spec.hostname),
    )


def _sources(mac: str, ranges: list[Subnet]) -> Iterator[tuple[str, Subnet]]:
    """nftables wants ranges of one key that do not overlap. Each MAC has a link-local address of IPv6 besides."""
    for version in (4, 6):
        for each in collapsed([*ranges, IPv6Network(link_local(mac))], version):
            yield mac, each


def collapsed(ranges: Iterable[Subnet], version: int) -> list[IPv4Network] | list[IPv6Network]:
    """Those of one IP version as few that do not overlap."""
    if version == 4:
        return list(collapse_addresses(each for each in ranges if isinstance(each, IPv4Network)))
    return list(collapse_addresses(each for each in ranges if isinstance(each, IPv6Network)))


def checked_interfaces(addresses: tuple[FixedAddress, ...], network: CheckedNetwork) -> tuple[Interface, ...]:
    """Addresses with the prefix lengths of their subnets."""
    found = []
    for each in addresses:
        subnet = network.subnets.get(checked_id(each.subnet_id))
        if subnet is None:
            raise ValueError(f"the address {each.address} is in a subnet that its network does not have")
        found.append(ip_interface(f"{checked_address(each.address)}/{subnet.cidr.prefixlen}"))
    return tuple(found)


def link_local(mac: str) -> IPv6Address:
    """The address that a card with this MAC gives itself (RFC 4291, appendix A)."""
    return eui64(IPv6Network("fe80::/64"), mac)


def _subnet(spec: SubnetSpec) -> CheckedSubnet:
    cidr = checked_range(spec.cidr)
    gateway = checked_address(spec.gateway) if spec.gateway else None
    routes = tuple((checked_range(each.destination), checked_address(each.nexthop)) for each in spec.routes)
    for address in (gateway, *(nexthop for _, nexthop in routes)):
        if address is not None and address.version != cidr.version:
            raise ValueError(f"{address} is not of the same version of IP as the subnet {cidr}")
    return CheckedSubnet(
        id=checked_id(spec.id),
        cidr=cidr,
        gateway=gateway,
        has_dhcp=spec.has_dhcp,
        dns_servers=tuple(checked_address(each) for each in spec.dns_servers),
        routes=routes,
        ipv6_mode=Ipv6Mode(spec.ipv6_mode) if spec.ipv6_mode else Ipv6Mode.STATEFUL,
    )


def _hostname(text: str) -> str:
    """Its first label, if it is one (RFC 1123): the rest of a qualified name is no part of what a guest is told."""
    label = text.lower().split(".")[0][:_HOSTNAME_LENGTH]
    return label if _LABEL.fullmatch(label) else ""
