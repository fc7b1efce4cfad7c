"""The slots of a request: for each choice that a candidate must make, the rows of the fleet that could serve it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from placement.candidates.columns import Bools, FleetColumns
from placement.candidates.query import CandidateQuery, RequestGroup


@dataclass(frozen=True, slots=True)
class RequestSlot:
    """One choice of a provider: a class of the un-suffixed group, or a whole suffixed group.

    `rows` can serve in their own tree, `shared` also in the trees that they share with, except those in `closed`.
    """

    group: RequestGroup
    amounts: Mapping[str, int]
    rows: Bools
    shared: tuple[int, ...] = ()
    closed: Bools | None = None

    def reach(self, columns: FleetColumns) -> Bools:
        """By row: is the root of a tree in which this choice can be made."""
        roots = tree_wide(columns, self.rows)
        for row in self.shared:
            served = columns.shared_with(row)
            roots = roots | (served if self.closed is None else served & ~self.closed)
        return roots


@dataclass(frozen=True, slots=True)
class SlottedRequest:
    """The slots of a query, and by row the roots of the trees in which each of them has somebody."""

    query: CandidateQuery
    slots: tuple[RequestSlot, ...]
    anchors: Bools

    @property
    def is_shared(self) -> bool:
        """Whether some sharing provider could serve another tree."""
        return any(slot.shared for slot in self.slots)

    @property
    def repeated(self) -> frozenset[str]:
        """Classes that more than one slot asks for: their sums must fit, too."""
        asked = Counter(name for slot in self.slots for name in slot.amounts)
        return frozenset(name for name, times in asked.items() if times > 1)


def request_of(columns: FleetColumns, query: CandidateQuery) -> SlottedRequest:
    """Lay the query over the fleet: vector operations, rule after rule."""
    slots = tuple(slot for group in query.groups for slot in slots_of(columns, group))
    anchors = root_filter(columns, query)
    for slot in slots:
        anchors = anchors & slot.reach(columns)
    return SlottedRequest(query, slots, anchors)


def slots_of(columns: FleetColumns, group: RequestGroup) -> list[RequestSlot]:
    """The choices of one group."""
    if group.suffix:
        rows = single_rows(columns, group)
        return [RequestSlot(group, group.resources, rows, sharing_among(columns, rows))]
    return _spread_slots(columns, group)


def single_rows(columns: FleetColumns, group: RequestGroup) -> Bools:
    """By row: gives all of the group alone and meets all its rules itself."""
    rows = columns.alive.copy()
    for name, wanted in group.resources.items():
        rows &= fits(columns, name, wanted)
    rows &= has_traits(columns, group.required, group.forbidden)
    rows &= in_aggregates(columns, group.member_of)
    if group.forbidden_aggregates:
        rows &= ~in_aggregates(columns, (group.forbidden_aggregates,))
    return rows & in_tree(columns, group.in_tree)


def _spread_slots(columns: FleetColumns, group: RequestGroup) -> list[RequestSlot]:
    """A slot for each class of the un-suffixed group. Aggregates of the root hold for its whole tree."""
    own, root = in_aggregates(columns, group.member_of), columns.trees.root
    place = in_tree(columns, group.in_tree) & (own | own[root])
    closed = None
    if group.forbidden_aggregates:
        closed = in_aggregates(columns, (group.forbidden_aggregates,))
        place &= ~(closed | closed[root])
        own = own & ~closed
    # One class has one provider, which then must have all traits; several can have them together.
    required = group.required if len(group.resources) == 1 else ()
    traits = has_traits(columns, required, group.forbidden)
    slots = []
    for name, wanted in group.resources.items():
        able = fits(columns, name, wanted) & traits
        shared = () if group.in_tree is not None else sharing_among(columns, able & own)
        slots.append(RequestSlot(group, {name: wanted}, able & place, shared, closed))
    return slots


def fits(columns: FleetColumns, name: str, wanted: int) -> Bools:
    """By row: has so much of the class free and gives it in one piece."""
    column = columns.classes.get(name)
    return np.zeros(len(columns), dtype=np.bool_) if column is None else column.fits(len(columns), wanted)


def has_traits(columns: FleetColumns, required: tuple[frozenset[str], ...], forbidden: frozenset[str]) -> Bools:
    """By row: has one of each required set, and none of the forbidden."""
    if not required and not forbidden:
        return columns.alive
    return columns.trait_sets.matching(required, forbidden)[columns.traits]


def in_aggregates(columns: FleetColumns, member_of: tuple[frozenset[UUID], ...]) -> Bools:
    """By row: is itself in one aggregate of each set."""
    if not member_of:
        return columns.alive
    return columns.aggregate_sets.matching(member_of)[columns.aggregates]


def in_tree(columns: FleetColumns, provider: UUID | None) -> Bools:
    """By row: belongs to the tree of that provider; nobody does when there is no such provider."""
    if provider is None:
        return columns.alive
    row, root = columns.row_of.get(provider), columns.trees.root
    if row is None:
        return np.zeros(len(columns), dtype=np.bool_)
    same: Bools = root == root[row]
    return same


def root_filter(columns: FleetColumns, query: CandidateQuery) -> Bools:
    """By row: has the traits that the query wants of a root."""
    required = tuple(frozenset({trait}) for trait in sorted(query.root_required))
    return has_traits(columns, required, query.root_forbidden) & columns.alive


def sharing_among(columns: FleetColumns, rows: Bools) -> tuple[int, ...]:
    """Those of the rows that share."""
    return tuple(row for row in columns.sharing if rows[row])


def tree_wide(columns: FleetColumns, rows: Bools) -> Bools:
    """By row: is the root of a tree that one of the rows belongs to."""
    if columns.trees.is_flat:
        return rows
    roots = np.zeros(len(columns), dtype=np.bool_)
    roots[columns.trees.root[rows]] = True
    return roots


def offering(columns: FleetColumns, name: str) -> Bools:
    """By row: is the root of a tree that has an inventory of the class, its own or one that somebody shares with it."""
    column = columns.classes.get(name)
    if column is None:
        return np.zeros(len(columns), dtype=np.bool_)
    has = columns.alive & (column.total[: len(columns)] > 0)
    roots = tree_wide(columns, has)
    for row in sharing_among(columns, has):
        roots = roots | columns.shared_with(row)
    return roots
