"""How much room there is, as a matrix of flavors by zones that can be read and sorted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.templatetags.pages import resource_name
from controlplane.dashboard.texts import translated
from controlplane.kernel.natural import natural_key
from controlplane.kernel.texts import gettext_noop

SORTS = ("name", "size", "room")
WIDE_ZONES = 5
"""So many zones have room beside a column of sizes; with more, a size is shown below the name of its flavor."""


LIMIT_WORDS = {
    "amount_not_allowed": gettext_noop("Larger than the host"),
    "numa_topology_missing": gettext_noop("No NUMA cells"),
    "numa_cells_short": gettext_noop("Too few NUMA cells with room"),
    "numa_memory_short": gettext_noop("Memory of one NUMA cell"),
    "numa_cpu_short": gettext_noop("CPUs of one NUMA cell"),
    "pinned_cpu_short": gettext_noop("CPUs for pinning"),
    "pci_short": gettext_noop("PCI devices"),
    "pages_short": gettext_noop("Large pages"),
    "not_in_aggregate": gettext_noop("Not in the aggregate"),
    "io_ops": gettext_noop("Too many builds at once"),
    "num_instances": gettext_noop("Number of instances"),
}
"""Codes whose words alone say too little, or say it in the scheduler's own language."""


@dataclass(frozen=True, slots=True)
class CapacityCell:
    """One flavor in one zone (in all of them where `zone` is empty): how many more fit, and what they run out of."""

    zone: str
    more: int
    without_loss: int
    hosts: int
    hosts_with_room: int
    binds: str
    limits: tuple[tuple[str, int], ...]
    largest_host: str
    is_lower_bound: bool

    @property
    def is_unknown(self) -> bool:
        """Whether the count was cut off before it found any: "at least none" says nothing."""
        return self.is_lower_bound and not self.without_loss

    @property
    def is_bound_shown(self) -> bool:
        """Whether there may be more of what is shown; of what is left without the largest host nobody can say so."""
        return self.is_lower_bound and bool(self.more)


@dataclass(frozen=True, slots=True)
class FlavorRow:
    """One flavor. `total` is None, and `problem` says why, where it could not be counted."""

    flavor: Mapping[str, Any]
    total: CapacityCell | None
    cells: tuple[CapacityCell, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class CapacityTable:
    """All flavors by all zones. The cells of a row are in the order of `zones`."""

    zones: tuple[str, ...]
    rows: tuple[FlavorRow, ...]
    host_count: int
    policy: str
    duration_us: int

    @property
    def has_unknown(self) -> bool:
        """Whether some number is not known."""
        return any(cell.is_unknown for row in self.rows for cell in row.cells)

    @property
    def has_many_columns(self) -> bool:
        """Whether the columns need the room that sizes take otherwise."""
        return len(self.zones) > WIDE_ZONES


def capacity_table(report: Mapping[str, Any], *, survive_loss: bool, sort: str) -> CapacityTable:
    """From the service's report; `sort` is one of SORTS, with a minus in front for the other way round."""
    rows = [_row(one, survive_loss=survive_loss) for one in report["flavors"]]
    zones = tuple(sorted({cell.zone for row in rows for cell in row.cells}, key=natural_key))
    aligned = []
    for row in rows:
        by_zone = {cell.zone: cell for cell in row.cells}
        cells = tuple(by_zone[zone] for zone in zones if zone in by_zone)
        aligned.append(FlavorRow(row.flavor, row.total, cells, row.problem))
    return CapacityTable(
        zones, tuple(_sorted(aligned, sort)), report["host_count"], report["policy_version"], report["duration_us"]
    )


def _row(row: Mapping[str, Any], *, survive_loss: bool) -> FlavorRow:
    cells = tuple(_cell(one["zone"], one, survive_loss=survive_loss) for one in row["zones"])
    total = None if row["total"] is None else _cell("", row["total"], survive_loss=survive_loss)
    return FlavorRow(row["flavor"], total, cells, row["problem"])


def _cell(zone: str, room: Mapping[str, Any], *, survive_loss: bool) -> CapacityCell:
    return CapacityCell(
        zone=zone,
        more=room["n_plus_1"] if survive_loss else room["count"],
        without_loss=room["count"],
        hosts=room["hosts"],
        hosts_with_room=room["hosts_with_room"],
        binds=limit_label(room["binds"] or ""),
        limits=tuple((limit_label(one["limit"]), one["hosts"]) for one in room["limits"]),
        largest_host=room["largest_host"] or "",
        is_lower_bound=room["is_lower_bound"],
    )


def limit_label(limit: str) -> str:
    """A resource class by its name, a reason's code in words, in the reader's language."""
    if not limit.islower():
        return resource_name(limit)
    return translated(LIMIT_WORDS.get(limit) or limit.replace("_", " ").capitalize())


def _sorted(rows: list[FlavorRow], sort: str) -> list[FlavorRow]:
    """Equal ones by name; what could not be counted comes last."""
    by_name = sorted(rows, key=lambda row: natural_key(str(row.flavor["name"])))
    kind = sort.removeprefix("-")
    if kind == "size":
        by_name.sort(key=lambda row: (row.flavor["vcpus"], row.flavor["memory_mib"]), reverse=sort.startswith("-"))
    elif kind == "room":
        by_name.sort(key=lambda row: row.total.more if row.total else 0, reverse=sort.startswith("-"))
    elif sort == "-name":
        by_name.reverse()
    return sorted(by_name, key=lambda row: row.total is None)
