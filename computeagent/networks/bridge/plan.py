"""What a host is to have, as values: made by `compiling` from a document, carried out by the modules beside.

All text in it was made from parsed values, and can be given to programs: ids as UUIDs, MACs, addresses, names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network

from computeagent.networks.bridge.ruleset import Table
from computeagent.protocol.networks import NetworkProblem

Subnet = IPv4Network | IPv6Network
Interface = IPv4Interface | IPv6Interface


@dataclass(frozen=True, slots=True)
class VxlanPlan:
    """How a bridge is joined to those of the same network on other hosts."""

    name: str
    segment: int
    local: str
    peers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UplinkPlan:
    """How a bridge is joined to a physical network's: by a link, so that all that is ours goes through ours."""

    name: str
    physical_end: str
    physical_bridge: str


@dataclass(frozen=True, slots=True)
class BridgePlan:
    """A network's bridge. `zone` keeps its connections apart from those of others with the same addresses."""

    name: str
    network_id: str
    mtu: int
    zone: int
    vxlan: VxlanPlan | None = None
    uplink: UplinkPlan | None = None

    @property
    def alias(self) -> str:
        """What the bridge says of itself; the zone is read back from here."""
        return f"kilonova network {self.network_id} zone {self.zone}"


@dataclass(frozen=True, slots=True)
class TapPlan:
    """Where a port's tap belongs."""

    port_id: str
    name: str
    bridge: str
    mtu: int


@dataclass(frozen=True, slots=True)
class DhcpFiles:
    """What dnsmasq reads: its configuration, and the ports by line. `address_owners`: whose an address is (MAC)."""

    configuration: str
    hosts: str
    address_owners: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """A network's service namespace. `addresses` beside 169.254.169.254; `on_link`: the IPv4 subnets of its guests."""

    network_id: str
    namespace: str
    link: str
    bridge: str
    mtu: int
    addresses: tuple[Interface, ...]
    on_link: tuple[IPv4Network, ...]
    dhcp: DhcpFiles | None


@dataclass(frozen=True, slots=True)
class LegPlan:
    """A router's leg: its end in the bridge, its end in the router."""

    link: str
    name: str
    bridge: str
    mac: str
    mtu: int
    addresses: tuple[Interface, ...]


@dataclass(frozen=True, slots=True)
class RouterPlan:
    """A router's namespace. `routes` are destination and next hop. `announced`: outside addresses that neighbours are
    to be told of, on the leg `outer`. `advertisements` is dnsmasq's configuration; empty without IPv6 inside.
    """

    id: str
    namespace: str
    legs: tuple[LegPlan, ...]
    outer: str
    routes: tuple[tuple[str, str], ...]
    announced: tuple[str, ...]
    tables: tuple[Table, ...]
    advertisements: str


@dataclass(frozen=True, slots=True)
class HostPlan:
    """All of it. `profiles`: the numbers under which sets of groups are known to the rules."""

    bridges: Mapping[str, BridgePlan] = field(default_factory=dict)
    taps: Mapping[str, TapPlan] = field(default_factory=dict)
    services: Mapping[str, ServicePlan] = field(default_factory=dict)
    routers: Mapping[str, RouterPlan] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    profiles: Mapping[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    problems: tuple[NetworkProblem, ...] = ()
