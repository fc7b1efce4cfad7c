"""Whether what a guest was given of a host's cells and devices is still there. Pure.

The control plane claims cells, CPUs, pages and devices; what it cannot know is what the machine lost since its last
report. Amounts that other guests use are not looked at: they were claimed.
"""

from collections.abc import Iterator

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.topology import GuestTopology, InstanceNUMACell, NUMACell
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Invalid


def topology_complaints(guest: GuestSpec, report: HostReport) -> list[str]:
    """What the host does not have (any more) of what the guest was placed on; nothing when it fits."""
    placed = guest.numa_topology
    try:
        if placed is not None:
            placed.require_place()
    except Invalid as error:
        return [error.message]
    return [*_of_cells(placed, report), *_of_devices(guest, report)]


def _of_cells(placed: GuestTopology | None, report: HostReport) -> Iterator[str]:
    if placed is None:
        return
    cells = {cell.id: cell for cell in report.numa_topology or ()}
    for cell in placed:
        on = None if cell.host_cell is None else cells.get(cell.host_cell)
        if on is None:
            yield f"NUMA cell: wants {cell.host_cell}, host has {format_cpus(cells) or 'none'}"
        else:
            yield from _of_cell(cell, on)


def _of_cell(cell: InstanceNUMACell, on: NUMACell) -> Iterator[str]:
    missing = cell.host_cpus - on.pcpuset
    if missing:
        offered = format_cpus(on.pcpuset) or "none"
        yield f"pinned CPUs of NUMA cell {on.id}: wants {format_cpus(missing)}, host offers {offered}"
    if len(cell.cpuset) > len(on.cpuset):
        yield f"shared CPUs of NUMA cell {on.id}: wants {len(cell.cpuset)}, host offers {len(on.cpuset)}"
    if cell.memory_mib > on.memory_mib:
        yield f"memory of NUMA cell {on.id}: wants {cell.memory_mib} MiB, host has {on.memory_mib} MiB"
    if cell.page_size is not None:
        yield from _of_pages(cell, on, cell.page_size)


def _of_pages(cell: InstanceNUMACell, on: NUMACell, size_kib: int) -> Iterator[str]:
    pages = on.pages(size_kib)
    wanted, has = cell.memory_mib * 1024 // size_kib, 0 if pages is None else pages.total - pages.reserved
    if wanted > has:
        yield f"pages of {size_kib} KiB of NUMA cell {on.id}: wants {wanted}, host has {has}"


def _of_devices(guest: GuestSpec, report: HostReport) -> Iterator[str]:
    offered = {device.address for device in report.pci_devices}
    for device in guest.pci_devices:
        if device.address not in offered:
            yield f"PCI device: wants {device.address or 'one without an address'}, host offers {len(offered)} others"
