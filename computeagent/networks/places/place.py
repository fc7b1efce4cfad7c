"""Which place a hypervisor's networks have, by its URI and by what its operator said."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from computeagent.networks.base import NetworkError, NetworkPlace
from computeagent.networks.places.machine import MachineNetworks


class HypervisorPlace(Protocol):
    """The place of one hypervisor."""

    def ensure(self) -> NetworkPlace:
        """Have it, whatever became of it. Raises NetworkError that says why it cannot be had."""

    def holds(self, pid: int) -> bool:
        """Whether this process is in it."""


class OwnNamespace:
    """One of several on this machine, which `directory` keeps."""

    def __init__(self, directory: Path, host: str) -> None:
        self._machine = MachineNetworks(directory)
        self.host = host

    def ensure(self) -> NetworkPlace:
        """Its namespace."""
        return self._machine.place(self.host)

    def holds(self, pid: int) -> bool:
        """Whether the process has this network namespace."""
        return self._machine.holds(self.host, pid)


@dataclass(frozen=True, slots=True)
class MachinePlace:
    """The machine itself."""

    place: NetworkPlace

    def ensure(self) -> NetworkPlace:
        """It is there."""
        return self.place

    def holds(self, pid: int) -> bool:
        """Whoever runs at all."""
        del pid
        return True


@dataclass(frozen=True, slots=True)
class PlaceOptions:
    """What an operator says: `directory` keeps the networks of several hypervisors of this machine, None where there
    is one. The rest is of a host that has the machine for itself: outside networks by the bridges that lead there, and
    its address among the other hosts.
    """

    directory: Path | None = None
    bridge_mappings: tuple[tuple[str, str], ...] = ()
    underlay_address: str = ""


def place_of(uri: str, host: str, options: PlaceOptions) -> HypervisorPlace:
    """Raises NetworkError where this kind of hypervisor carries no networks."""
    parts = urlsplit(uri)
    if parts.path == "/embed":
        raise NetworkError(
            "an embedded hypervisor (qemu:///embed) carries no networks of kind bridge: it needs a libvirtd "
            "(Debian package libvirt-daemon)"
        )
    if parts.scheme != "qemu" or parts.netloc:
        raise NetworkError(f"{uri} is not a hypervisor of this machine, so its networks cannot be carried from here")
    if parts.path == "/private" and options.directory is not None:
        return OwnNamespace(options.directory, host)
    if parts.path == "/session" or os.geteuid() != 0:
        raise NetworkError("networks of this machine are root's, and this hypervisor is an ordinary user's")
    return MachinePlace(
        NetworkPlace(underlay_address=options.underlay_address, bridge_mappings=dict(options.bridge_mappings))
    )


def bridge_mappings_parse(text: str) -> tuple[tuple[str, str], ...]:
    """`public:br-ex,storage:br-st`, as Neutron has it. Raises NetworkError that names what is wrong."""
    found: dict[str, str] = {}
    for item in (each.strip() for each in text.split(",")):
        if not item:
            continue
        network, colon, bridge = (part.strip() for part in item.partition(":"))
        if not (network and colon and bridge) or len(bridge) > 15 or "/" in bridge:
            raise NetworkError(f"a bridge mapping is NETWORK:BRIDGE, such as public:br-ex, and not {item!r}")
        if network in found:
            raise NetworkError(f"the physical network {network!r} is mapped to two bridges")
        found[network] = bridge
    return tuple(found.items())
