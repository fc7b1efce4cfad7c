"""Whether what a guest was given of a host's cells and devices is still there. Pure.

The control plane claims cells, CPUs, pages and devices; what it cannot know is what the machine lost since its last
report. Amounts that other guests use are not looked at: they were claimed.
"""

from collections.abc import Iterator

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.topology import (
    HostCell,
    PlacedCell,
    PlacedGuest,
    host_cells_from_json,
    placed_guest_from_json,
)
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Invalid


def placed_on(guest: GuestSpec) -> PlacedGuest | None:
    """Where the guest is; None for one without NUMA wishes. Raises Invalid when that cannot be read."""
    return placed_guest_from_json(guest.numa_topology)


def topology_complaints(guest: GuestSpec, report: HostReport) -> list[str]:
    """What the host does not have (any more) of what the guest was placed on; nothing when it fits."""
    try:
        placed = placed_on(guest)
    except Invalid as error:
        return [error.message]
    return [*_of_cells(placed, report), *_of_devices(guest, report)]


def _of_cells(placed: PlacedGuest | None, report: HostReport) -> Iterator[str]:
    if placed is None:
        return
    cells = {cell.id: cell for cell in host_cells_from_json(report.numa_topology)}
    for cell in placed.cells:
        on = cells.get(cell.host_cell)
        if on is None:
            yield f"NUMA cell: wants {cell.host_cell}, host has {format_cpus(cells) or 'none'}"
        else:
            yield from _of_cell(cell, on)


def _of_cell(cell: PlacedCell, on: HostCell) -> Iterator[str]:
    missing = cell.host_cpus - on.dedicated
    if missing:
        offered = format_cpus(on.dedicated) or "none"
        yield f"pinned CPUs of NUMA cell {on.id}: wants {format_cpus(missing)}, host offers {offered}"
    if len(cell.floating) > len(on.shared):
        yield f"shared CPUs of NUMA cell {on.id}: wants {len(cell.floating)}, host offers {len(on.shared)}"
    if cell.memory_mib > on.memory_mib:
        yield f"memory of NUMA cell {on.id}: wants {cell.memory_mib} MiB, host has {on.memory_mib} MiB"
    if cell.page_kib is not None:
        yield from _of_pages(cell, on, cell.page_kib)


def _of_pages(cell: PlacedCell, on: HostCell, size_kib: int) -> Iterator[str]:
    stock = on.stock(size_kib)
    wanted, has = cell.memory_mib * 1024 // size_kib, 0 if stock is None else stock.total - stock.reserved
    if wanted > has:
        yield f"pages of {size_kib} KiB of NUMA cell {on.id}: wants {wanted}, host has {has}"


def _of_devices(guest: GuestSpec, report: HostReport) -> Iterator[str]:
    offered = {str(device.get("address")) for device in report.pci_devices}
    for device in guest.pci_devices:
        address = device.get("address", "")
        if address not in offered:
            yield f"PCI device: wants {address or 'one without an address'}, host offers {len(offered)} others"
