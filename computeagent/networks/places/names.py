"""Names and addresses of the networks that several hypervisors of one machine have: pure rules.

An installation on a machine (one directory) has a namespace in the middle, and one for each hypervisor:

    middle             kn-ID          bridge `underlay`, bridge `public`
    hypervisor N       kn-ID-N        `underlay` (198.18.x.y) -- u<N> in the middle
                                      bridge `br-public`, in it `uplink` -- p<N> in the middle
    routers, DHCP      kn-ID-N-...    what a hypervisor makes for itself

The underlay is joined to nothing else, so its addresses collide with none. The outside network's do, and are chosen.
"""

import hashlib
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from computeagent.networks.base import NetworkError

PUBLIC = "public"
"""The physical network's name, and that of the bridge in the middle."""
PUBLIC_BRIDGE = "br-public"
UNDERLAY = "underlay"
UPLINK = "uplink"
OUTSIDE = "outside"
"""In the middle: what leads to the outside, for an ordinary user."""
UNDERLAY_PREFIX = 16
_UNDERLAY_NETWORK = ipaddress.IPv4Network("198.18.0.0/16")  # RFC 2544: for tests between devices, used nowhere outside
_CANDIDATES = [ipaddress.IPv4Network(f"172.24.{third}.0/24") for third in range(4, 256)]
MAX_HYPERVISORS = 60_000


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """Of one installation on a machine. `installation` is different for each directory."""

    installation: str

    @property
    def middle(self) -> str:
        """The namespace in the middle."""
        return f"kn-{self.installation}"

    def hypervisor(self, number: int) -> str:
        """The namespace of a hypervisor; with a hyphen after it, it begins the names of what it makes."""
        return f"{self.middle}-{number}"

    @property
    def machine_link(self) -> str:
        """Root's interface on the machine itself that is the gateway of the outside network."""
        return f"kn{self.installation}"

    @property
    def table(self) -> str:
        """The nftables table of the way outside."""
        return f"kilonova_{self.installation}"


def names_of(directory: Path) -> PlaceNames:
    """The same for the same directory; other users have other names for theirs."""
    text = f"{os.geteuid()}:{directory.resolve()}"
    return PlaceNames(hashlib.sha256(text.encode()).hexdigest()[:8])


def underlay_address(number: int) -> str:
    """Of hypervisor `number` (from 1) among those of its machine."""
    return str(_UNDERLAY_NETWORK[number])


def gateway_of(cidr: str) -> str:
    """The machine's address in the outside network: its first."""
    return str(ipaddress.ip_network(cidr)[1])


def public_cidr_choose(wanted: str, taken: Sequence[str]) -> str:
    """The range of the outside network: the wanted one, or the first that overlaps none of `taken` (CIDRs: routes and
    addresses of the machine). Raises NetworkError where there is none, or the wanted one is no such range.
    """
    others = [ipaddress.ip_network(each, strict=False) for each in taken]
    if wanted:
        try:
            network = ipaddress.IPv4Network(wanted)
        except ValueError as error:
            raise NetworkError(f"the outside network {wanted!r} is not an IPv4 range: {error}") from error
        if not 8 <= network.prefixlen <= 29:
            raise NetworkError(f"the outside network {wanted} must have a prefix of 8 to 29")
        hit = next((each for each in others if _overlap(network, each)), None)
        if hit is not None:
            raise NetworkError(f"the outside network {wanted} overlaps {hit}, which this machine has a route to")
        return str(network)
    for candidate in _CANDIDATES:
        if not any(_overlap(candidate, each) for each in others):
            return str(candidate)
    raise NetworkError("no range from 172.24.4.0/24 to 172.24.255.0/24 is free here: set EXTERNAL_NETWORK_CIDR")


def _overlap(network: ipaddress.IPv4Network, other: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    return isinstance(other, ipaddress.IPv4Network) and other.prefixlen > 0 and network.overlaps(other)
