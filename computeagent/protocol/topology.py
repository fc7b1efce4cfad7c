"""NUMA cells of a host and of a guest placed on it, as driver and agent need them, and their JSON forms.

The forms are those of the scheduler, which decides where a guest goes: a host's cells travel in
`HostReport.numa_topology`, a placed guest in `GuestSpec.numa_topology`. Memory is MiB, page sizes KiB.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.cpu_list import format_cpus, parse_cpus
from controlplane.kernel.errors import Invalid

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageStock:
    """Memory pages of one size in one cell. `reserved` are kept from guests."""

    size_kib: int
    total: int
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class ReportedNUMACell:
    """One NUMA cell: `shared` CPUs are offered to float on, `dedicated` ones to be pinned to.

    `siblings` are the offered threads of each core that has several; `socket` is None where a cell spans sockets.
    """

    id: int
    shared: frozenset[int]
    dedicated: frozenset[int]
    memory_mib: int
    socket: int | None = None
    siblings: tuple[frozenset[int], ...] = ()
    pages: tuple[PageStock, ...] = ()

    def stock(self, size_kib: int) -> PageStock | None:
        """The pages of one size; None when the cell has no such size."""
        return next((each for each in self.pages if each.size_kib == size_kib), None)

    @property
    def smallest_page_kib(self) -> int:
        """The size of its ordinary pages; 0 where the host does not say."""
        return min((each.size_kib for each in self.pages), default=0)


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """One NUMA cell of a guest with its place: `pins` are pairs of (vCPU, host CPU), `reserved` host CPUs are for
    emulator threads, and vCPUs in no pair float on the shared CPUs of the host cell. `page_kib` None: no constraint.
    """

    id: int
    vcpus: frozenset[int]
    memory_mib: int
    host_cell: int
    pins: tuple[tuple[int, int], ...] = ()
    reserved: frozenset[int] = frozenset()
    page_kib: int | None = None

    @property
    def floating(self) -> frozenset[int]:
        """The vCPUs that are not pinned."""
        return self.vcpus - {vcpu for vcpu, _ in self.pins}

    @property
    def host_cpus(self) -> frozenset[int]:
        """Host CPUs that are this guest's alone."""
        return frozenset(cpu for _, cpu in self.pins) | self.reserved


@dataclass(frozen=True, slots=True)
class PlacedGuest:
    """All cells of a guest. `emulator_threads` is 'share', 'isolate' or '' for no policy."""

    cells: tuple[PlacedCell, ...]
    emulator_threads: str = ""

    @property
    def pinned_count(self) -> int:
        """How many vCPUs have a host CPU of their own."""
        return sum(len(cell.pins) for cell in self.cells)


def host_cells_to_json(cells: tuple[ReportedNUMACell, ...]) -> dict[str, object] | None:
    """The form of `HostReport.numa_topology`, without usage; None for a host that reports no cells."""
    return {"cells": [_host_cell(cell) for cell in cells]} if cells else None


def host_cells_from_json(data: Json | None) -> tuple[ReportedNUMACell, ...]:
    """The inverse of `host_cells_to_json`. Raises Invalid."""
    if data is None:
        return ()
    try:
        return tuple(_read_host_cell(cell) for cell in data["cells"])
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid(f"this is no topology of a host: {error!r}") from error


def placed_guest_from_json(data: Json | None) -> PlacedGuest | None:
    """The placed guest of `GuestSpec.numa_topology`; None for one without NUMA constraints.

    Raises Invalid for another form, and for a guest with a cell that has no host cell or a vCPU without a pin.
    """
    if data is None:
        return None
    try:
        cells = tuple(_read_placed(cell) for cell in data["cells"])
        return PlacedGuest(cells, str(data.get("emulator_threads") or ""))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Invalid(f"this is no topology of a placed guest: {error!r}") from error


def _host_cell(cell: ReportedNUMACell) -> dict[str, object]:
    form: dict[str, object] = {
        "id": cell.id,
        "cpuset": format_cpus(cell.shared),
        "pcpuset": format_cpus(cell.dedicated),
        "memory_mib": cell.memory_mib,
    }
    if cell.socket is not None:
        form["socket"] = cell.socket
    if cell.siblings:
        form["siblings"] = [format_cpus(threads) for threads in cell.siblings]
    if cell.pages:
        form["mempages"] = [[stock.size_kib, stock.total, 0, stock.reserved] for stock in cell.pages]
    return form


def _read_host_cell(data: Json) -> ReportedNUMACell:
    return ReportedNUMACell(
        id=int(data["id"]),
        shared=parse_cpus(data["cpuset"]),
        dedicated=parse_cpus(data["pcpuset"]),
        memory_mib=int(data["memory_mib"]),
        socket=data.get("socket"),
        siblings=tuple(parse_cpus(text) for text in data.get("siblings", ())),
        pages=tuple(PageStock(size, total, reserved) for size, total, _, reserved in data.get("mempages", ())),
    )


def _read_placed(data: Json) -> PlacedCell:
    pinned = parse_cpus(data["pcpuset"])
    pins = tuple(sorted((int(vcpu), int(cpu)) for vcpu, cpu in data.get("pinning", ())))
    if {vcpu for vcpu, _ in pins} != pinned:
        raise ValueError(f"cell {data['id']}: vCPUs {format_cpus(pinned)} are to be pinned, pins are {pins}")
    size = data.get("page_size")
    return PlacedCell(
        id=int(data["id"]),
        vcpus=parse_cpus(data["cpuset"]) | pinned,
        memory_mib=int(data["memory_mib"]),
        host_cell=int(data["host_cell"]),
        pins=pins,
        reserved=parse_cpus(data.get("reserved", "")),
        page_kib=None if size is None else _page(int(size)),
    )


def _page(size_kib: int) -> int:
    """Symbols for small, large and any are negative; a fit replaces them by a size."""
    if size_kib < 1:
        raise ValueError(f"page size {size_kib} was not resolved")
    return size_kib
