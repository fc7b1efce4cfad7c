"""Networks as a hypervisor gets them: one document a host, which says everything that this host is to have.

The control plane makes it from rows; the host compares it with what it has and puts right what differs, as often as it
likes. What is in no document any more is removed. Addresses are text in their canonical form; MTUs are bytes.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Annotated

from msgspec import Meta

from computeagent.protocol.bounds import CUT, PORTS_MAX, PROBLEMS_MAX, Amount, Sentence, Word


class NetworkBackendKind(StrEnum):
    """Who carries a network: a libvirt network that the hypervisor has, bridges of Linux, or OVN."""

    HYPERVISOR = "hypervisor"
    BRIDGE = "bridge"
    OVN = "ovn"


class Direction(StrEnum):
    """Seen from the guest: what it receives is ingress."""

    INGRESS = "ingress"
    EGRESS = "egress"


class Ipv6Mode(StrEnum):
    """How guests get their IPv6 addresses where there is DHCP (Neutron's `ipv6_address_mode`): by DHCPv6; or each makes
    its own of its MAC address, and asks DHCPv6 for the rest (STATELESS) or for nothing (SLAAC).
    """

    STATEFUL = "dhcpv6-stateful"
    STATELESS = "dhcpv6-stateless"
    SLAAC = "slaac"


class PortStatus(StrEnum):
    """DOWN: not plugged. ACTIVE: plugged, its rules in force. ERROR: its host could not do it."""

    DOWN = "DOWN"
    BUILD = "BUILD"
    ACTIVE = "ACTIVE"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class HostRoute:
    """A route that guests are told: `destination` in CIDR form, over `nexthop`."""

    destination: str
    nexthop: str


@dataclass(frozen=True, slots=True)
class SubnetSpec:
    """A subnet of a network. `gateway` is empty where it has none. Without `has_dhcp` guests are told addresses by
    their config drive alone. `metadata_address`: an address of it where the metadata service answers beside
    169.254.169.254; empty without. `ipv6_mode`: one of Ipv6Mode; empty is STATEFUL.
    """

    id: str
    cidr: str
    gateway: str = ""
    has_dhcp: bool = True
    dns_servers: tuple[str, ...] = ()
    routes: tuple[HostRoute, ...] = ()
    metadata_address: str = ""
    ipv6_mode: str = ""

    @property
    def has_leases(self) -> bool:
        """Whether DHCP gives addresses of it: else guests make them, or are told by their config drive."""
        return self.has_dhcp and self.ipv6_mode in ("", Ipv6Mode.STATEFUL)


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """A network with its subnets. `segment` is its VXLAN id; `peers` are the addresses of the other hosts that have
    a port or router in it. `physical_network`: the outside network that it is (a bridge of the host's, by the host's
    own mapping of names); empty for one inside.
    """

    id: str
    mtu: int = 1450
    segment: int = 0
    subnets: tuple[SubnetSpec, ...] = ()
    peers: tuple[str, ...] = ()
    physical_network: str = ""


@dataclass(frozen=True, slots=True)
class FixedAddress:
    """An address of a port, in one of its network's subnets."""

    subnet_id: str
    address: str


@dataclass(frozen=True, slots=True)
class AddressPair:
    """Another address (or CIDR) that a port may send from; `mac` empty: the port's own."""

    address: str
    mac: str = ""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port on this host. `group_ids`: its security groups; with none it receives nothing and sends nothing but what
    it needs for its own address. Without `has_security` neither rules nor the check of its own addresses apply.
    A port that is not enabled passes nothing. `hostname` is what DHCP tells the guest.
    """

    id: str
    network_id: str
    mac: str
    addresses: tuple[FixedAddress, ...] = ()
    allowed_pairs: tuple[AddressPair, ...] = ()
    group_ids: tuple[str, ...] = ()
    has_security: bool = True
    is_enabled: bool = True
    instance_uuid: str = ""
    project_id: str = ""
    hostname: str = ""


@dataclass(frozen=True, slots=True)
class GroupRule:
    """What a security group lets through. `protocol` is empty (any), a name (tcp, udp, icmp, ...) or a number.

    Of TCP, UDP, SCTP and DCCP `port_min` to `port_max` are destination ports, of ICMP type and code; None: any.
    At most one of `remote_cidr` and `remote_group_id` is given; none of both: anybody. `ip_version` is 4 or 6.
    """

    id: str
    direction: Direction
    ip_version: int = 4
    protocol: str = ""
    port_min: int | None = None
    port_max: int | None = None
    remote_cidr: str = ""
    remote_group_id: str = ""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A security group that a port of this host has, or that a rule of such a group names as remote.

    `members` are the addresses of all its ports on all hosts, by network (id), with those that these may send from
    besides; `ranges` are such as are no single addresses. Only where a rule names it as remote.
    """

    id: str
    rules: tuple[GroupRule, ...] = ()
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RouterLeg:
    """A router's port in one of its networks: it has the gateway's addresses there."""

    port_id: str
    network_id: str
    mac: str
    addresses: tuple[FixedAddress, ...]


@dataclass(frozen=True, slots=True)
class FloatingSpec:
    """An outside address that stands for one address of a port."""

    id: str
    address: str
    fixed_address: str
    port_id: str = ""


@dataclass(frozen=True, slots=True)
class RouterSpec:
    """A router that lives on this host. `gateway` is its leg in an external network, None without; `has_snat`: guests
    without a floating address go out under the gateway's own.
    """

    id: str
    legs: tuple[RouterLeg, ...] = ()
    gateway: RouterLeg | None = None
    has_snat: bool = True
    routes: tuple[HostRoute, ...] = ()
    floating: tuple[FloatingSpec, ...] = ()
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class HostNetworks:
    """All that one host is to have of networks. `revision` grows with each change of any of it.

    `ports` are those bound to this host, in networks of the kinds BRIDGE and OVN; `networks` all that they or the
    routers here are in. For OVN only what a host has to know of its own ports is filled: the rest is OVN's.
    """

    revision: int
    kind: NetworkBackendKind = NetworkBackendKind.BRIDGE
    networks: tuple[NetworkSpec, ...] = ()
    ports: tuple[HostPort, ...] = ()
    groups: tuple[GroupSpec, ...] = ()
    routers: tuple[RouterSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkProblem:
    """What this host could not do of its document, in a sentence for operators. `kind` is port, network, router or
    host, `id` the id of the thing (empty for the host as a whole).
    """

    kind: Word
    id: Word
    message: Sentence


@dataclass(frozen=True, slots=True)
class NetworksApplied:
    """How far this host is: the revision that is in force, the ports that are plugged, and what could not be done."""

    revision: Amount
    active_ports: Annotated[tuple[Word, ...], Meta(max_length=PORTS_MAX)] = ()
    problems: Annotated[tuple[NetworkProblem, ...], Meta(max_length=PROBLEMS_MAX, extra=CUT)] = ()


def metadata_port(network_id: str) -> str:
    """OVN's name of the port where each host answers for the metadata service in a network of kind OVN."""
    return f"metadata-{network_id}"


def metadata_mac(network_id: str) -> str:
    """Its MAC address: the same on all hosts, since OVN keeps what is sent to it on the sender's own."""
    digits = sha256(f"metadata {network_id}".encode()).hexdigest()
    return f"fa:16:3f:{digits[0:2]}:{digits[2:4]}:{digits[4:6]}"
