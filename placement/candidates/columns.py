"""The fleet as columns: each provider has a row, which changes in place, and each class that occurs has a column."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from placement.candidates.facts import SHARING_TRAIT, ProviderFacts
from placement.candidates.interned_sets import Bools, InternedSets
from placement.candidates.trees import Ints, TreeIndex, tree_index
from placement.domain import MAX_INT, InventoryUsage

__all__ = ["Bools", "ClassColumn", "FleetColumns", "Ints", "ProviderFacts", "columns_of"]

_SPARE = 64
Int32s = NDArray[np.int32]


class ClassColumn:
    """The inventories of one class by row. Where a provider has none, `maximum` is 0, so that nothing fits."""

    __slots__ = ("capacity", "is_stepped", "maximum", "minimum", "step", "total", "used")

    def __init__(self, room: int) -> None:
        self.total, self.capacity, self.used = (np.zeros(room, dtype=np.int64) for _ in range(3))
        self.minimum, self.maximum = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.int32)
        self.step = np.ones(room, dtype=np.int32)
        self.is_stepped = False

    def put(self, row: int, usage: InventoryUsage | None) -> None:
        """Write the numbers of one row; None empties it."""
        if usage is None:
            self.total[row] = self.capacity[row] = self.used[row] = self.minimum[row] = self.maximum[row] = 0
            self.step[row] = 1
            return
        self.total[row], self.capacity[row], self.used[row] = usage.total, usage.capacity, usage.used
        self.minimum[row], self.maximum[row], self.step[row] = usage.min_unit, usage.max_unit, usage.step_size
        self.is_stepped |= usage.step_size != 1

    def grow(self, room: int) -> None:
        """Make room for more rows."""
        more = room - len(self.total)
        for name in ("total", "capacity", "used", "minimum", "maximum"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))
        self.step = np.pad(self.step, (0, more), constant_values=1)

    def fits(self, size: int, wanted: int) -> Bools:
        """By row: whether it has `wanted` free and can give it in one piece."""
        if wanted > MAX_INT:
            return np.zeros(size, dtype=np.bool_)
        fits: Bools = self.used[:size] + wanted <= self.capacity[:size]
        fits &= self.maximum[:size] >= wanted
        fits &= self.minimum[:size] <= wanted
        if self.is_stepped:
            fits &= wanted % self.step[:size] == 0
        return fits

    def free(self, row: int) -> int:
        """Return what is left; it is negative where an operator shrank the inventory below its use."""
        return int(self.capacity[row] - self.used[row])


class FleetColumns:
    """All providers, by row. They must not change while a search reads them: their owner holds a lock around both.

    A row that was dropped stays empty (`facts` None) until the owner builds new columns.
    """

    def __init__(self, room: int = _SPARE) -> None:
        self._room = room
        self.facts: list[ProviderFacts | None] = []
        self.row_of: dict[UUID, int] = {}
        self.classes: dict[str, ClassColumn] = {}
        self.trait_sets: InternedSets[str] = InternedSets()
        self.aggregate_sets: InternedSets[UUID] = InternedSets()
        self._traits: Int32s = np.zeros(room, dtype=np.int32)
        self._aggregates: Int32s = np.zeros(room, dtype=np.int32)
        self._alive: Bools = np.zeros(room, dtype=np.bool_)
        self._trees: TreeIndex | None = None
        self._shared_with: dict[int, Bools] = {}
        self._sharing: tuple[int, ...] | None = None

    def __len__(self) -> int:
        """How many rows there are, empty ones included."""
        return len(self.facts)

    @property
    def count(self) -> int:
        """How many providers there are, empty rows left out."""
        return len(self.row_of)

    @property
    def alive(self) -> Bools:
        """By row: is a provider."""
        return self._alive[: len(self.facts)]

    @property
    def traits(self) -> Int32s:
        """By row: the number of its set of traits in `trait_sets`."""
        return self._traits[: len(self.facts)]

    @property
    def aggregates(self) -> Int32s:
        """By row: the number of its set of aggregates in `aggregate_sets`."""
        return self._aggregates[: len(self.facts)]

    @property
    def trees(self) -> TreeIndex:
        """The parents and roots of the providers, worked out at the first use after a change."""
        if self._trees is None:
            self._trees = tree_index(self.facts, self.row_of)
        return self._trees

    def fact(self, row: int) -> ProviderFacts:
        """The provider of a row that is not empty."""
        facts = self.facts[row]
        if facts is None:
            raise LookupError(f"row {row} is empty")
        return facts

    def put(self, facts: ProviderFacts) -> None:
        """Write a provider as it is now: into the row that it has, or into a new one at the end."""
        row = self.row_of.get(facts.uuid)
        if row is None:
            row = self._append(facts)
        old = self.facts[row]
        self.facts[row] = facts
        self._put_inventories(row, old.inventories if old else {}, facts.inventories)
        self._put_place(row, old, facts)

    def drop(self, uuid: UUID) -> None:
        """Remove a provider and leave its row empty. Unknown ones are no error."""
        row = self.row_of.pop(uuid, None)
        if row is None:
            return
        self._put_inventories(row, self.fact(row).inventories, {})
        self.facts[row] = None
        self._alive[row] = False
        self._traits[row] = self._aggregates[row] = 0
        self._moved()

    @property
    def sharing(self) -> tuple[int, ...]:
        """The rows that share with the members of their aggregates."""
        if self._sharing is None:
            has = self.trait_sets.matching((frozenset({SHARING_TRAIT}),))
            self._sharing = tuple(np.flatnonzero(has[self.traits] & self.alive).tolist())
        return self._sharing

    def shared_with(self, row: int) -> Bools:
        """By row: is the root of a tree that has a member in an aggregate of `row`."""
        roots = self._shared_with.get(row)
        if roots is None:
            mine = self.aggregate_sets.sets[int(self._aggregates[row])]
            meets = np.array([not keys.isdisjoint(mine) for keys in self.aggregate_sets.sets], dtype=np.bool_)
            roots = self._shared_with[row] = np.zeros(len(self), dtype=np.bool_)
            roots[self.trees.root[meets[self.aggregates]]] = True
        return roots

    def view(self) -> "FleetView":
        """Return a copy of who is there now, which stays as it is when the columns change."""
        served = {row: self.shared_with(row) for row in self.sharing}
        return FleetView(tuple(self.facts), self.row_of.copy(), self.trees, served)

    def _append(self, facts: ProviderFacts) -> int:
        row = len(self.facts)
        if row == self._room:
            self._grow(self._room + self._room // 4 + _SPARE)
        self.facts.append(None)
        self.row_of[facts.uuid] = row
        self._alive[row] = True
        self._moved()
        return row

    def _grow(self, room: int) -> None:
        more = (0, room - self._room)
        self._traits, self._aggregates = np.pad(self._traits, more), np.pad(self._aggregates, more)
        self._alive = np.pad(self._alive, more)
        for column in self.classes.values():
            column.grow(room)
        self._room = room

    def _put_inventories(self, row: int, old: Mapping[str, InventoryUsage], new: Mapping[str, InventoryUsage]) -> None:
        for name in old.keys() - new.keys():
            self.classes[name].put(row, None)
        for name, usage in new.items():
            column = self.classes.get(name)
            if column is None:
                column = self.classes[name] = ClassColumn(self._room)
            column.put(row, usage)

    def _put_place(self, row: int, old: ProviderFacts | None, new: ProviderFacts) -> None:
        # Each cache is emptied with what it depends on: `_sharing` on traits, `_shared_with` on aggregates and trees,
        # `_trees` on parents. Identity is enough: an equal set in another object only empties a cache in vain.
        if old is None or old.traits is not new.traits:
            self._traits[row] = self.trait_sets.number_of(new.traits)
            self._sharing = None
        if old is None or old.aggregates is not new.aggregates:
            self._aggregates[row] = self.aggregate_sets.number_of(new.aggregates)
            self._shared_with.clear()
        if old is not None and (old.parent_uuid, old.root_uuid) != (new.parent_uuid, new.root_uuid):
            self._moved()

    def _moved(self) -> None:
        """Empty all that was worked out from who is in which tree: a provider came, went or moved."""
        self._trees = self._sharing = None
        self._shared_with.clear()


@dataclass(frozen=True, slots=True)
class FleetView:
    """Who was in the fleet, and in which tree, at one moment: it stays as it is when the columns change."""

    facts: tuple[ProviderFacts | None, ...]
    row_of: Mapping[UUID, int]
    trees: TreeIndex
    served: Mapping[int, Bools]

    def fact(self, row: int) -> ProviderFacts:
        """The provider of a row that was not empty."""
        facts = self.facts[row]
        if facts is None:
            raise LookupError(f"row {row} was empty")
        return facts

    def reached(self, anchor: int) -> list[int]:
        """Return the rows of the tree of `anchor`, and those that share with it."""
        own = list(self.trees.rows_of(anchor))
        return own + [row for row, roots in self.served.items() if roots[anchor] and row not in own]


def columns_of(providers: Iterable[ProviderFacts]) -> FleetColumns:
    """Make columns of these providers, in their order."""
    rows = list(providers)
    columns = FleetColumns(len(rows) + len(rows) // 8 + _SPARE)
    for facts in rows:
        columns.put(facts)
    return columns
