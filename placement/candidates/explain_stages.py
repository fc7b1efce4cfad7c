"""The rules of a request, judged one after the other: each stage has the trees that lose their last provider to it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from controlplane.kernel.reasons import Refusal
from placement.candidates import wording
from placement.candidates.columns import Bools, FleetColumns, FleetView
from placement.candidates.query import CandidateQuery, RequestGroup
from placement.candidates.request_slots import (
    fits,
    has_traits,
    in_aggregates,
    in_tree,
    root_filter,
    sharing_among,
    tree_wide,
)


@dataclass(frozen=True, slots=True)
class RefusalStage:
    """One rule: the roots of the trees that still have a provider after it, and the words for those that have none."""

    passes: Bools
    say: Callable[[int], Refusal]


def stages_of(columns: FleetColumns, fleet: FleetView, query: CandidateQuery) -> Iterator[RefusalStage]:
    """Yield all rules that can be judged tree by tree without trying combinations; their words come from `fleet`."""
    for group in query.groups:
        yield from _ExplainStages(columns, fleet, group).stages()
    if query.root_required or query.root_forbidden:
        yield RefusalStage(root_filter(columns, query), partial(wording.root_traits, fleet, query))


class _ExplainStages:
    """One group: the rows that are left for each of its choices, fewer with each rule."""

    def __init__(self, columns: FleetColumns, fleet: FleetView, group: RequestGroup) -> None:
        self._columns = columns
        self._fleet = fleet
        self._group = group
        self._is_spread = not group.suffix
        self._rows = [columns.alive.copy() for _ in range(len(group.resources) if self._is_spread else 1)]
        self._own = in_aggregates(columns, group.member_of) if self._is_spread else columns.alive

    def stages(self) -> Iterator[RefusalStage]:
        """Yield the rules in the order in which they are judged: amounts, then traits, then the place."""
        yield from self._amounts()
        yield from self._traits()
        yield from self._place()
        if self._is_spread and len(self._rows) > 1 and self._group.required:
            yield RefusalStage(self._covered(), partial(wording.traits_missing, self._fleet, self._group))

    def _amounts(self) -> Iterator[RefusalStage]:
        for index, (name, wanted) in enumerate(self._group.resources.items()):
            choice = index if self._is_spread else 0
            say = partial(wording.amount, self._fleet, self._group, name, self._rows[choice].copy())
            self._rows[choice] &= fits(self._columns, name, wanted)
            yield RefusalStage(self._left(), say)

    def _traits(self) -> Iterator[RefusalStage]:
        group, columns = self._group, self._columns
        required = group.required if len(self._rows) == 1 else ()
        if required:
            yield self._narrow(has_traits(columns, required, frozenset()), wording.traits_missing)
        if group.forbidden:
            yield self._narrow(has_traits(columns, (), group.forbidden), wording.traits_forbidden)

    def _place(self) -> Iterator[RefusalStage]:
        group, columns = self._group, self._columns
        if group.member_of:
            yield self._narrow(self._with_root(in_aggregates(columns, group.member_of)), wording.not_member)
        if group.forbidden_aggregates:
            bad = self._with_root(in_aggregates(columns, (group.forbidden_aggregates,)))
            yield self._narrow(~bad, wording.forbidden_member)
        if group.in_tree is not None:
            yield self._narrow(in_tree(columns, group.in_tree), wording.other_tree)

    def _with_root(self, rows: Bools) -> Bools:
        """What holds for the root holds for its tree, as far as the un-suffixed group goes."""
        return rows | rows[self._columns.trees.root] if self._is_spread else rows

    def _narrow(self, rows: Bools, say: Callable[[FleetView, RequestGroup, int], Refusal]) -> RefusalStage:
        self._rows = [left & rows for left in self._rows]
        return RefusalStage(self._left(), partial(say, self._fleet, self._group))

    def _left(self) -> Bools:
        """By row: whether it is the root of a tree in which each choice has a provider, its own or one that shares."""
        roots = self._columns.alive
        for rows in self._rows:
            roots = roots & self._reach(rows)
        return roots

    def _reach(self, rows: Bools) -> Bools:
        roots = tree_wide(self._columns, rows)
        if self._is_spread and self._group.in_tree is not None:
            return roots
        for row in sharing_among(self._columns, rows & self._own):
            served = self._columns.shared_with(row)
            if self._is_spread and self._group.forbidden_aggregates:
                served = served & ~in_aggregates(self._columns, (self._group.forbidden_aggregates,))
            roots = roots | served
        return roots

    def _covered(self) -> Bools:
        """By row: whether it is the root of a tree whose remaining providers have all required traits between them."""
        anyone = np.logical_or.reduce(self._rows)
        roots = self._columns.alive
        for alternatives in self._group.required:
            roots = roots & self._reach(anyone & has_traits(self._columns, (alternatives,), frozenset()))
        return roots
