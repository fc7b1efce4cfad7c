"""The fleet that the engine saw as flat columns by name, and the host table made of them again.

A column is a numpy array, or a tuple with one value for each row (or each distinct value). Whatever the host table is
made of is taken as it is, so a column added to it is kept without a change here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from controlplane.kernel.texts import phrase as _
from placement.candidates import ProviderFacts
from scheduling.decisions.ledger.content import OtherVersion
from scheduling.decisions.ledger.providers import PROVIDERS, providers_from_columns
from scheduling.domain.columns import Interned, InventoryColumns
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_rows import UNLIMITED
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.trace.columns import Array

Column = Array | tuple[Any, ...]
Columns = Mapping[str, Column]

# Made of the others, or empty at the start of a run.
_DERIVED = frozenset(
    {"rows_by_instance", "rows_by_host", "rows_by_node", "row_by_uuid", "placed", "no_inventory", "details"}
)
_TABLE = "table/"


@dataclass(frozen=True, slots=True, eq=False)
class FleetSeen:
    """What one run of the engine looked at. `scope`: the only node whose candidates were searched, None for all.

    `providers` are those of Placement's view; None where the run did not ask for candidates.
    """

    table: HostTable
    providers: tuple[ProviderFacts | None, ...] | None = None
    scope: str | None = None


def fleet_seen(table: HostTable, candidates: CandidateSet | None) -> FleetSeen:
    """What a run with these arguments looks at."""
    if candidates is None:
        return FleetSeen(table)
    return FleetSeen(table, candidates.fleet.facts, candidates.scope)


def table_to_columns(table: HostTable) -> dict[str, Column]:
    """The table's columns by name: no copies."""
    columns: dict[str, Column] = {}
    for each in fields(table):
        if each.name not in _DERIVED:
            _put(columns, _TABLE + each.name, getattr(table, each.name))
    return columns


def table_from_columns(columns: Columns) -> HostTable:
    """The inverse of `table_to_columns`; indexes are made again."""
    parts = {name.removeprefix(_TABLE): column for name, column in columns.items() if name.startswith(_TABLE)}
    made = {each.name: _get(parts, each.name) for each in fields(HostTable) if each.name not in _DERIVED}
    hosts, nodes, uuids = made["hosts"], made["nodes"], made["uuids"]
    return HostTable(
        **made,
        no_inventory=_no_inventory(len(hosts)),
        rows_by_instance=_index((uuid, row) for row, held in enumerate(made["instances"]) for uuid in held),
        rows_by_host=_index((name.lower(), row) for row, name in enumerate(hosts)),
        rows_by_node=_index((name.lower(), row) for row, name in enumerate(nodes)),
        row_by_uuid={uuid: row for row, uuid in enumerate(uuids)},
        placed={},
    )


def fleet_from_columns(columns: Columns, *, scope: str | None) -> FleetSeen:
    """The fleet as it was seen. Raises OtherVersion where a column of this version's table is missing."""
    try:
        table = table_from_columns(columns)
        providers = providers_from_columns(columns) if PROVIDERS in columns else None
    except KeyError as error:
        raise OtherVersion(
            _("This snapshot was written by another version: it has no {error}.", error=error)
        ) from error
    return FleetSeen(table, providers, scope)


def _put(columns: dict[str, Column], name: str, value: Any) -> None:
    if isinstance(value, np.ndarray | tuple):
        columns[name] = value
    elif isinstance(value, Interned):
        columns[f"{name}.values"], columns[f"{name}.codes"] = value.values, value.codes
    elif isinstance(value, InventoryColumns):
        for each in fields(value):
            columns[f"{name}.{each.name}"] = getattr(value, each.name)
    elif isinstance(value, Mapping) and all(isinstance(one, InventoryColumns) for one in value.values()):
        columns[f"{name}.names"] = tuple(value)
        for key, one in value.items():
            _put(columns, f"{name}.of.{key}", one)
    else:
        columns[f"{name}.value"] = (value,)


def _get(columns: Columns, name: str) -> Any:
    if name in columns:
        return columns[name]
    if f"{name}.codes" in columns:
        return Interned(columns[f"{name}.values"], columns[f"{name}.codes"])  # type: ignore[arg-type]
    if f"{name}.names" in columns:
        parts = [each.name for each in fields(InventoryColumns)]
        return {
            key: InventoryColumns(**{part: columns[f"{name}.of.{key}.{part}"] for part in parts})  # type: ignore[arg-type]
            for key in columns[f"{name}.names"]
        }
    return columns[f"{name}.value"][0]


def _no_inventory(count: int) -> InventoryColumns:
    """All zero, with the bounds of an inventory that says nothing else."""
    zero = np.zeros(count, dtype=np.int64)
    one, maximum = np.ones(count, dtype=np.int64), np.full(count, UNLIMITED, dtype=np.int64)
    return InventoryColumns(
        total=zero,
        reserved=zero,
        allocation_ratio=np.ones(count, dtype=np.float64),
        used=zero,
        min_unit=one,
        max_unit=maximum,
        step_size=one,
        capacity=zero,
    )


def _index(pairs: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for name, row in pairs:
        found.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def same_column(one: Column | None, other: Column | None) -> bool:
    """Whether two columns are equal to the bit (numbers) or in their values."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(bits_of(one), bits_of(other))
    return isinstance(one, tuple) and isinstance(other, tuple) and one == other


def bits_of(array: Array) -> Array:
    """Floats as their bits, so that minus zero differs from zero and nan equals itself."""
    return array.view(np.int64) if array.dtype.kind == "f" else array
