"""A host's NUMA cells and PCI devices as a picture: who has which CPU, page and device."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from computeagent.protocol.pci import PciDeviceRecord
from computeagent.protocol.topology import GuestTopology, HostTopology, NUMACell, NUMAPages


class CpuUse(StrEnum):
    """shared: guests float over it. free: offered for pinning, and nobody's. pinned: one guest's."""

    SHARED = "shared"
    FREE = "free"
    PINNED = "pinned"


@dataclass(frozen=True, slots=True)
class CpuPicture:
    """One CPU of the host; `owner` is the instance that has it for itself."""

    cpu: int
    use: CpuUse
    owner: str = ""


@dataclass(frozen=True, slots=True)
class CellPicture:
    """One NUMA cell. `cores` are CPUs that are threads of one core; `devices` are the PCI devices near it, `guests` the
    instances with a cell of theirs here.
    """

    cell: NUMACell
    cores: tuple[tuple[CpuPicture, ...], ...]
    devices: tuple[PciDeviceRecord, ...]
    guests: tuple[str, ...]

    @property
    def pages(self) -> tuple[NUMAPages, ...]:
        """Large pages, by size; small ones are the rest of the memory."""
        smallest = self.cell.smallest_pages
        return tuple(sorted((one for one in self.cell.mempages if one != smallest), key=lambda one: one.size_kib))


@dataclass(frozen=True, slots=True)
class HostPicture:
    """All cells, and the devices of which the host does not say near which cell they are."""

    cells: tuple[CellPicture, ...]
    devices: tuple[PciDeviceRecord, ...]

    @property
    def owners(self) -> set[str]:
        """Every instance that has a CPU, a cell or a device."""
        found = {owner for cell in self.cells for owner in cell.guests}
        found |= {cpu.owner for cell in self.cells for core in cell.cores for cpu in core if cpu.owner}
        return found | {one.owner for one in self.every_device if one.owner}

    @property
    def every_device(self) -> tuple[PciDeviceRecord, ...]:
        """Of all cells and of none."""
        return (*(one for cell in self.cells for one in cell.devices), *self.devices)


def host_picture(
    host: HostTopology | None, guests: Mapping[str, GuestTopology], devices: Iterable[PciDeviceRecord]
) -> HostPicture:
    """From the host's cells, the placed guests by instance, and its devices."""
    cells = host.cells if host else ()
    near: dict[int, list[PciDeviceRecord]] = {cell.id: [] for cell in cells}
    elsewhere: list[PciDeviceRecord] = []
    for one in sorted(devices, key=lambda one: one.address):
        (elsewhere if one.numa_node is None else near.get(one.numa_node, elsewhere)).append(one)
    return HostPicture(tuple(_cell(cell, guests, near[cell.id]) for cell in cells), tuple(elsewhere))


def _cell(cell: NUMACell, guests: Mapping[str, GuestTopology], devices: list[PciDeviceRecord]) -> CellPicture:
    owner_of: dict[int, str] = {}
    here = []
    for owner, guest in sorted(guests.items()):
        mine = [one for one in guest if one.host_cell == cell.id]
        if mine:
            here.append(owner)
        owner_of |= {cpu: owner for one in mine for cpu in one.host_cpus}
    cores = tuple(tuple(_cpu(cell, cpu, owner_of) for cpu in sorted(threads)) for threads in cell.cores)
    return CellPicture(cell, cores, tuple(devices), tuple(here))


def _cpu(cell: NUMACell, cpu: int, owner_of: Mapping[int, str]) -> CpuPicture:
    if cpu in owner_of:
        return CpuPicture(cpu, CpuUse.PINNED, owner_of[cpu])
    if cpu in cell.pinned_cpus:
        return CpuPicture(cpu, CpuUse.PINNED)
    return CpuPicture(cpu, CpuUse.FREE if cpu in cell.pcpuset else CpuUse.SHARED)
