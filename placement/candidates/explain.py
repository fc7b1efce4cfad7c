"""The reasons why trees are no candidates: of each the first rule that it broke, with the numbers."""

from collections.abc import Iterator, Mapping
from uuid import UUID

import numpy as np

from controlplane.kernel.reasons import Refusal
from placement.candidates import wording
from placement.candidates.columns import FleetColumns
from placement.candidates.explain_stages import stages_of
from placement.candidates.query import CandidateQuery
from placement.candidates.request_slots import offering, request_of
from placement.candidates.single_provider import single_provider_rows
from placement.candidates.tree_search import TreeSearch

_PASSED, _COMBINATION = -1, -2


class Refusals(Mapping[UUID, Refusal]):
    """{root provider: why its tree is no candidate}; trees that are candidates are left out.

    Vectors judge the whole fleet when this is made; the words are made when somebody asks for them, from a view of the
    fleet of that moment. A tree that only lends (a sharing provider) is judged like any other.
    """

    def __init__(self, columns: FleetColumns, query: CandidateQuery) -> None:
        self._fleet = columns.view()
        self._query = query
        self._stages = list(stages_of(columns, self._fleet, query))
        self._broken = np.full(len(columns), _PASSED, dtype=np.int64)
        for number, stage in enumerate(self._stages):
            self._broken[(self._broken == _PASSED) & ~stage.passes] = number
        self._try_combinations(columns)
        self._others: Refusals | None = None
        refused = self._broken != _PASSED
        if query.instead is not None:
            self._others = Refusals(columns, query.instead.query)
            self._is_other = ~offering(columns, query.instead.without)
            refused = np.where(self._is_other, self._others._broken != _PASSED, refused)
        is_root = columns.alive & (self._fleet.trees.root == np.arange(len(columns)))
        self._rows: list[int] = np.flatnonzero(is_root & refused).tolist()

    def __getitem__(self, root: UUID) -> Refusal:
        refusal = self.of(root)
        if refusal is None:
            raise KeyError(root)
        return refusal

    def __iter__(self) -> Iterator[UUID]:
        return (self._fleet.fact(row).uuid for row in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, provider: UUID) -> Refusal | None:
        """Why the tree of this provider is no candidate; None when it is one."""
        row = self._fleet.row_of.get(provider)
        if row is None:
            return wording.unknown_provider()
        anchor = int(self._fleet.trees.root[row])
        if self._others is not None and self._is_other[anchor]:
            return self._others.of(provider)
        broken = int(self._broken[anchor])
        if broken == _PASSED:
            return None
        return wording.no_combination(self._query) if broken == _COMBINATION else self._stages[broken].say(anchor)

    def _try_combinations(self, columns: FleetColumns) -> None:
        """Search for one choice that meets all rules in each tree where every rule alone can be met."""
        request = request_of(columns, self._query)
        self._broken[(self._broken == _PASSED) & ~request.anchors] = _COMBINATION
        single = single_provider_rows(columns, request)
        is_open = self._broken == _PASSED
        if single is not None:
            is_open &= single < 0
        for anchor in np.flatnonzero(is_open).tolist():
            if next(iter(TreeSearch(columns, request, anchor, False, None)), None) is None:
                self._broken[anchor] = _COMBINATION


def candidate_refusals(columns: FleetColumns, query: CandidateQuery) -> Refusals:
    """Return the reasons why trees of the fleet are no candidates."""
    return Refusals(columns, query)


def refusal_of(columns: FleetColumns, query: CandidateQuery, provider: UUID) -> Refusal | None:
    """Return why the tree of one provider is no candidate; None when it is one."""
    return Refusals(columns, query).of(provider)
