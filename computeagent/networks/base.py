"""The Protocol of what carries networks on a host. Verbs are idempotent: 'already so' is success."""

from dataclasses import dataclass, field
from typing import Protocol

from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, NetworkBackendKind, NetworksApplied

TAP_PREFIX = "tp"


class NetworkError(Exception):
    """A host cannot do what is wanted of its networks; the message says what is missing or failed, for operators."""


@dataclass(frozen=True, slots=True)
class NetworkPlace:
    """Where a hypervisor's networks are, and its QEMU with them.

    `prefix` goes before each command, such as one that enters a network namespace; empty: the machine's own.
    `underlay_address` is this hypervisor's address among the others (VXLAN); empty: it is alone. `bridge_mappings`:
    names of physical networks to bridges that are there. `tap_uid`: the user whom taps are made for, as he is numbered
    behind the prefix; None: root. `has_namespaces`: named namespaces can be made inside (`ip netns`), for routers and
    DHCP. `namespace_prefix` begins the name of each, with a hyphen after it: the hypervisors of a machine have one list
    of names, and each removes only those of its own prefix.
    """

    prefix: tuple[str, ...] = ()
    underlay_address: str = ""
    bridge_mappings: dict[str, str] = field(default_factory=dict)
    tap_uid: int | None = None
    has_namespaces: bool = True
    namespace_prefix: str = "kn"


@dataclass(frozen=True, slots=True)
class Tap:
    """The interface of the host that a guest's card is joined to. `mtu` in bytes. Without `has_offloads` the card must
    not leave checksums to others (a switch in user space does not fill them in).
    """

    name: str
    mtu: int
    has_offloads: bool = True


@dataclass(frozen=True, slots=True)
class NetworkAbilities:
    """The kinds of networks that a host carries, the physical networks that routers on it reach, and what it lacks to
    carry what it was meant to: a sentence for operators, empty where it lacks nothing.
    """

    kinds: tuple[NetworkBackendKind, ...] = ()
    physical_networks: tuple[str, ...] = ()
    lack: str = ""


class HostPlug(Protocol):
    """What carries networks here. Called by several threads; of one port by one at a time."""

    def open(self) -> None:
        """Find out once what this host can. Raises NetworkError that names what it lacks: a host that cannot keep
        security groups carries no networks.
        """

    def close(self) -> None:
        """Let go; what was made stays."""

    def abilities(self) -> NetworkAbilities:
        """What `open` found out."""

    def apply(self, wanted: HostNetworks) -> NetworksApplied:
        """Have what the document says and remove what it does not say (any more) of what was made here.

        One thing that cannot be done is a problem in the answer, and keeps nothing else from being done.
        """

    def plug(self, port: PortSpec) -> Tap:
        """Have the port's tap, joined to its network, guarded by its rules: `apply` was called with a document that has
        it. Raises NetworkError otherwise.
        """

    def unplug(self, port_id: str) -> None:
        """Remove the tap. Nothing there is a success."""

    def service_prefix(self, network_id: str) -> tuple[str, ...] | None:
        """What goes before a command so that it runs where this host serves the guests of this network, and no others:
        a network namespace in which 169.254.169.254 is an address, reached by the guests here under their own
        addresses, and from which these are reached. None while there is no such place (yet, or any more).

        The metadata service listens there on port 80.
        """


def tap_name(port_id: str) -> str:
    """Interfaces have names of at most 15 characters."""
    return TAP_PREFIX + port_id.replace("-", "")[:12]
