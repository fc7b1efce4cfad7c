"""What one host gives one guest of its cells, CPUs, pages and devices: the rule of the claim, asked of the truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from computeagent.protocol.pci import GivenDevice
from computeagent.protocol.topology import GuestTopology, HostTopology
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.numa.fit import FitNeeds, fit
from scheduling.topology.domain.numa.usage import claim
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.devices import Devices, pools_of
from scheduling.topology.domain.pci.devices import claim as devices_claim
from scheduling.topology.domain.pci.support import ANYWHERE, NumaPlace
from scheduling.topology.domain.place import place_of


@dataclass(frozen=True, slots=True)
class NodeTopology:
    """A host's cells with what is in use, and its devices with who has them. `host` None: it reports no NUMA."""

    host: HostTopology | None
    devices: Devices = ()


@dataclass(frozen=True, slots=True)
class TopologyNeeds:
    """What one guest asks for. `guest` None: no cells, only the devices of `fit.pci_requests`."""

    guest: GuestTopology | None
    fit: FitNeeds

    def __bool__(self) -> bool:
        return self.guest is not None or bool(self.fit.pci_requests)


@dataclass(frozen=True, slots=True)
class Grant:
    """The guest as placed, its devices, and the host with both on it."""

    numa: GuestTopology | None
    devices: tuple[GivenDevice, ...]
    left: NodeTopology


def grant(node: NodeTopology, needs: TopologyNeeds, owner: str) -> Grant | Refusal:
    """All that the guest asks for, or why it cannot be given, with the numbers."""
    placed, place, host = needs.guest, ANYWHERE, node.host
    if placed is not None:
        if host is None:
            return Refusal(RefusalReason.NUMA_TOPOLOGY_MISSING, wanted=len(placed))
        found = fit(host, placed, replace(needs.fit, pools=pools_of(node.devices)))
        if isinstance(found, Refusal):
            return found
        placed, place, host = found, place_of(host, found), claim(host, found)
    devices = _devices(node.devices, needs.fit.pci_requests, owner, place)
    if isinstance(devices, Refusal):
        return devices
    given, left = devices
    return Grant(placed, given, NodeTopology(host, left))


def _devices(
    devices: Devices, requests: Sequence[PciRequest], owner: str, place: NumaPlace
) -> tuple[tuple[GivenDevice, ...], Devices] | Refusal:
    """One request after the other, so that each device is known by the request it answers."""
    given: dict[str, GivenDevice] = {}
    for request in requests:
        found = devices_claim(devices, (request,), owner, place)
        if isinstance(found, Refusal):
            return found
        devices = found
        mine = [each.address for each in devices if each.owner == owner and each.address not in given]
        given |= {address: GivenDevice(address, request.alias, request.request_id) for address in mine}
    return tuple(given[address] for address in sorted(given)), devices
