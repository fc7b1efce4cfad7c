"""From what a machine has to what a host offers: NUMA cells under the operator's CPU sets and reserved pages. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from computeagent.drivers.base import DriverError
from computeagent.drivers.host_options import HostOptions, ReservedPages
from computeagent.protocol.topology import HostTopology, NUMACell, NUMAPages


@dataclass(frozen=True, slots=True)
class MachineCpu:
    """One online CPU: its socket, and the threads of its core, itself included."""

    id: int
    socket: int
    siblings: frozenset[int]


@dataclass(frozen=True, slots=True)
class MachineCell:
    """One NUMA cell as the machine has it. `pages` are pairs of (size in KiB, total)."""

    id: int
    cpus: tuple[MachineCpu, ...]
    memory_mib: int
    pages: tuple[tuple[int, int], ...] = ()


MachineCells = tuple[MachineCell, ...]


def online_cpus(cells: MachineCells, vcpus: int) -> frozenset[int]:
    """All CPUs of the machine; of one that reports no cells, as many as it counts."""
    found = frozenset(cpu.id for cell in cells for cpu in cell.cpus)
    return found or frozenset(range(vcpus))


def host_topology(cells: MachineCells, options: HostOptions) -> HostTopology | None:
    """The cells with what is offered of them; None for a machine that reports none.

    Raises DriverError for a CPU set or a reservation of pages that this machine does not have.
    """
    online = online_cpus(cells, 0)
    shared, pinnable = options.shared_cpus(online), options.pinnable_cpus(online)
    found = tuple(_host_cell(cell, shared, pinnable) for cell in cells)
    reserved = _with_reserved(found, options.reserved_pages)
    return HostTopology(reserved) if reserved else None


def has_threads(cells: MachineCells) -> bool:
    """Whether any core has more than one thread."""
    return any(len(cpu.siblings) > 1 for cell in cells for cpu in cell.cpus)


def evenly(
    count: int, *, cpus: int, threads: int, memory_mib: int, huge_pages: Iterable[tuple[int, int]] = ()
) -> MachineCells:
    """`count` equal cells, a socket each, for hosts that are made up. `huge_pages`: (size in KiB, total of a cell).

    Threads of a core are numbered one after the other.
    """
    cores = [frozenset(range(at, min(at + threads, cpus))) for at in range(0, cpus, threads)]
    cells = []
    for at in range(count):
        of_cell = cores[len(cores) * at // count : len(cores) * (at + 1) // count]
        mib = memory_mib // count + (1 if at < memory_mib % count else 0)
        cpus_of_cell = tuple(MachineCpu(cpu, at, core) for core in of_cell for cpu in sorted(core))
        cells.append(MachineCell(at, cpus_of_cell, mib, _pages(mib, tuple(huge_pages))))
    return tuple(cells)


def _pages(memory_mib: int, huge: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Memory that is not in huge pages is in small ones, as the kernel counts them."""
    small_kib = memory_mib * 1024 - sum(size * total for size, total in huge)
    return (4, max(0, small_kib) // 4), *huge


def _host_cell(cell: MachineCell, shared: frozenset[int], pinnable: frozenset[int]) -> NUMACell:
    ids = frozenset(cpu.id for cpu in cell.cpus)
    sockets = {cpu.socket for cpu in cell.cpus}
    offered = ids & (shared | pinnable)
    return NUMACell(
        id=cell.id,
        cpuset=ids & shared,
        pcpuset=ids & pinnable,
        memory_mib=cell.memory_mib,
        # Devices can be near a socket only where a cell has one.
        socket=sockets.pop() if len(sockets) == 1 else None,
        siblings=_siblings(cell, offered),
        mempages=tuple(NUMAPages(size, total) for size, total in sorted(cell.pages)),
    )


def _siblings(cell: MachineCell, offered: frozenset[int]) -> tuple[frozenset[int], ...]:
    """The offered threads of each core; none at all where no core has two, since a lone thread is a core by itself."""
    if not any(len(cpu.siblings) > 1 for cpu in cell.cpus):
        return ()
    cores = {cpu.siblings & offered for cpu in cell.cpus}
    return tuple(sorted(filter(None, cores), key=min))


def _with_reserved(cells: tuple[NUMACell, ...], reserved: tuple[ReservedPages, ...]) -> tuple[NUMACell, ...]:
    by_id = {cell.id: cell for cell in cells}
    for each in reserved:
        cell = by_id.get(each.cell)
        pages = None if cell is None else cell.pages(each.size_kib)
        if cell is None or pages is None:
            raise DriverError(
                f"pages of {each.size_kib} KiB are to be reserved on cell {each.cell}, which this machine does not have"
            )
        reduced = replace(pages, reserved=each.count)
        by_id[cell.id] = replace(cell, mempages=tuple(reduced if one is pages else one for one in cell.mempages))
    return tuple(by_id[cell.id] for cell in cells)
