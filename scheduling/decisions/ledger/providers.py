"""Placement's providers as columns beside the host table: only what the table does not say already costs anything.

A compute node's provider repeats the numbers of its row. So a column of providers holds the bits by which it differs
from the table's (exclusive or): nearly always zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import compress, count
from operator import is_not
from typing import Any
from uuid import UUID

import numpy as np

from placement.candidates import ProviderFacts
from placement.domain import InventoryUsage
from scheduling.domain.columns import IntArray
from scheduling.domain.hosts.host_table import HostTable

PROVIDERS = "providers/rows"
_NUMBERS = tuple(each.name for each in fields(InventoryUsage))
_RATIO = "allocation_ratio"
_OF = "providers/of."

Column = Any


@dataclass(slots=True)
class ProviderColumns:
    """The providers seen last, as arrays, so that the next look costs only what changed since."""

    facts: tuple[ProviderFacts | None, ...] = ()
    numbers: dict[str, dict[str, IntArray]] = field(default_factory=dict)
    places: tuple[Any, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    _beside: "_Beside | None" = None
    _stale: dict[str, tuple[IntArray, Any, IntArray, IntArray]] = field(default_factory=dict)

    def beside(self, table: HostTable) -> "_Beside":
        """Which row of the table each provider stands beside; made again when either side has changed."""
        if self._beside is None or not self._beside.is_of(self.places, table):
            self._beside = _Beside.of(self.places, table)
        return self._beside

    def stale(self, table: HostTable, name: str, part: str, rows: IntArray) -> IntArray:
        """One column as its difference to the table's; the same object while neither side has changed."""
        column, beside = self.numbers[name][part], getattr(table.inventory(name), part)
        known = self._stale.get(f"{name}.{part}")
        if known is None or known[0] is not column or known[1] is not beside or known[2] is not rows:
            made = column ^ _spread(beside, rows)
            known = self._stale[f"{name}.{part}"] = column, beside, rows, made
        return known[3]

    def update(self, facts: Sequence[ProviderFacts | None]) -> None:
        """Take over what differs by identity: whatever changes about a provider, another object takes its place."""
        now = tuple(facts)
        if len(now) < len(self.facts) or not self.facts:
            self.facts, self.numbers, self.places, self.names = (), {}, (), ()
        before = self.facts
        changed = [*compress(count(), map(is_not, now, before)), *range(len(before), len(now))]
        self.facts = now
        if changed:
            self._take(changed)

    def _take(self, changed: list[int]) -> None:
        size = len(self.facts)
        names, places = list(self.names), list(self.places)
        more = size - len(names)
        names += [()] * more
        places += [None] * more
        for at in changed:
            each = self.facts[at]
            names[at] = () if each is None else tuple(sorted(each.inventories))
            places[at] = None if each is None else _place(each)
        is_same = not more and all(names[at] == self.names[at] for at in changed)
        self.names = self.names if is_same else tuple(names)
        is_same = not more and all(places[at] == self.places[at] for at in changed)
        self.places = self.places if is_same else tuple(places)
        self._take_numbers(changed, {name for at in changed for name in names[at]}, size)

    def _take_numbers(self, changed: list[int], classes: Iterable[str], size: int) -> None:
        """New arrays for what differs, because the old ones may be held by a snapshot; the others stay as they are."""
        for name in sorted({*self.numbers, *classes}):
            old = self.numbers.get(name) or {part: np.zeros(0, dtype=np.int64) for part in _NUMBERS}
            usages = [self._usage(at, name) for at in changed]
            self.numbers[name] = {part: _written(column, part, changed, usages, size) for part, column in old.items()}

    def _usage(self, at: int, name: str) -> InventoryUsage | None:
        each = self.facts[at]
        return None if each is None else each.inventories.get(name)


@dataclass(frozen=True, slots=True)
class _Beside:
    """`rows`: of the table, by provider; -1 for none. `stale`: what the table does not say of each."""

    places: tuple[Any, ...]
    table: HostTable
    rows: IntArray
    stale: tuple[Any, ...]

    @classmethod
    def of(cls, places: tuple[Any, ...], table: HostTable) -> "_Beside":
        rows = np.array([_row(table, place) for place in places], dtype=np.int64)
        return cls(places, table, rows, _without_known(places, table, rows))

    def is_of(self, places: tuple[Any, ...], table: HostTable) -> bool:
        if self.places is not places:
            return False
        mine, other = self.table.trait_sets, table.trait_sets
        same_codes = mine.codes is other.codes or np.array_equal(mine.codes, other.codes)
        return self.table.uuids == table.uuids and mine.values == other.values and same_codes


def providers_to_columns(seen: ProviderColumns, table: HostTable) -> dict[str, Column]:
    """Columns of the providers, as differences to the table's."""
    beside = seen.beside(table)
    rows = beside.rows
    columns: dict[str, Column] = {
        PROVIDERS: rows,
        "providers/places": beside.stale,
        "providers/names": seen.names,
        "providers/classes": tuple(sorted(seen.numbers)),
    }
    for name in seen.numbers:
        for part in _NUMBERS:
            columns[f"{_OF}{name}.{part}"] = seen.stale(table, name, part, rows)
    return columns


def providers_from_columns(columns: Mapping[str, Column], table: HostTable) -> tuple[ProviderFacts, ...]:
    """The providers in their order; rows that were empty are left out."""
    rows = columns[PROVIDERS]
    numbers: dict[str, list[tuple[int, ...]]] = {}
    for name in columns["providers/classes"]:
        expected = _expected(table, name, rows)
        parts = [(columns[f"{_OF}{name}.{part}"] ^ expected[part]) for part in _NUMBERS]
        ratio = parts[_NUMBERS.index(_RATIO)].view(np.float64)
        parts[_NUMBERS.index(_RATIO)] = ratio
        numbers[name] = list(zip(*(part.tolist() for part in parts), strict=True))
    each_row = enumerate(zip(columns["providers/places"], columns["providers/names"], rows.tolist(), strict=True))
    return tuple(
        _facts(place, {name: InventoryUsage(*numbers[name][at]) for name in names}, table, row)
        for at, (place, names, row) in each_row
        if place is not None
    )


def _place(each: ProviderFacts) -> tuple[Any, ...]:
    """All that is not a number. The name and the generation say nothing to a search."""
    return (each.uuid, each.root_uuid, each.parent_uuid, each.traits, each.aggregates)


def _without_known(places: tuple[Any, ...], table: HostTable, rows: IntArray) -> tuple[Any, ...]:
    """Of a compute node that stands alone, with the traits of its row, only the aggregates are news."""
    return tuple(
        place[4:] if place is not None and row >= 0 and _is_known(place, table, row) else place
        for place, row in zip(places, rows.tolist(), strict=True)
    )


def _is_known(place: tuple[Any, ...], table: HostTable, row: int) -> bool:
    uuid, root, parent, traits, _ = place
    return root == uuid and parent is None and traits == table.trait_sets[row]


def _facts(place: tuple[Any, ...], inventories: dict[str, InventoryUsage], table: HostTable, row: int) -> ProviderFacts:
    if len(place) == 1:
        uuid = UUID(table.uuids[row])
        return ProviderFacts(uuid, uuid, inventories, table.trait_sets[row], place[0])
    uuid, root, parent, traits, aggregates = place
    return ProviderFacts(uuid, root, inventories, traits, aggregates, parent)


def _row(table: HostTable, place: Any) -> int:
    return -1 if place is None else table.row_by_uuid.get(str(place[0]), -1)


def _expected(table: HostTable, name: str, rows: IntArray) -> dict[str, IntArray]:
    """What the table says of one class, by provider."""
    inventory = table.inventory(name)
    return {part: _spread(getattr(inventory, part), rows) for part in _NUMBERS}


def _spread(column: Any, rows: IntArray) -> IntArray:
    """A column of the table by provider, as bits; 0 where the provider is no compute node of the table."""
    bits = column.view(np.int64) if column.dtype.kind == "f" else column
    spread = np.zeros(len(rows), dtype=np.int64)
    known = rows >= 0
    spread[known] = bits[rows[known]]
    return spread


def _written(
    column: IntArray, part: str, rows: Sequence[int], usages: Sequence[InventoryUsage | None], size: int
) -> IntArray:
    values = [0 if usage is None else _bits(part, getattr(usage, part)) for usage in usages]
    if len(column) == size and all(column[at] == value for at, value in zip(rows, values, strict=True)):
        return column
    changed = _grown(column, size)
    changed[list(rows)] = values
    return changed


def _bits(part: str, value: Any) -> int:
    return int(np.float64(value).view(np.int64)) if part == _RATIO else int(value)


def _grown(column: IntArray, size: int) -> IntArray:
    grown = np.zeros(size, dtype=np.int64)
    grown[: len(column)] = column
    return grown
