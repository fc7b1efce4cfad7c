"""Why a tree is no candidate: the first rule that it broke, with the numbers."""

from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

import numpy as np

from controlplane.kernel.reasons import Refusal
from placement.candidates import wording
from placement.candidates.columns import FleetColumns
from placement.candidates.narrowing import stages_of
from placement.candidates.query import CandidateQuery
from placement.candidates.slots import request_of
from placement.candidates.walk import TreeWalk

_PASSED, _COMBINATION = -1, -2


class Refusals(Mapping[UUID, Refusal]):
    """{root provider: why its tree is no candidate}; trees that are candidates are left out.

    Judged for the whole fleet by vectors; the words are made when somebody asks. It reads the columns, so ask before
    they change. A tree that only lends (a sharing provider) is judged like any other.
    """

    def __init__(self, columns: FleetColumns, query: CandidateQuery) -> None:
        self._columns = columns
        self._query = query
        self._stages = list(stages_of(columns, query))
        self._broken = np.full(len(columns), _PASSED, dtype=np.int64)
        for number, stage in enumerate(self._stages):
            self._broken[(self._broken == _PASSED) & ~stage.passes] = number
        self._try_combinations()
        is_root = columns.alive & (columns.trees.root == np.arange(len(columns)))
        self._rows = np.flatnonzero(is_root & (self._broken != _PASSED)).tolist()

    def __getitem__(self, root: UUID) -> Refusal:
        refusal = self.of(root)
        if refusal is None:
            raise KeyError(root)
        return refusal

    def __iter__(self) -> Iterator[UUID]:
        return (self._columns.fact(row).uuid for row in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, provider: UUID) -> Refusal | None:
        """Why the tree of this provider is no candidate; None when it is one."""
        row = self._columns.row_of.get(provider)
        if row is None:
            return wording.unknown_provider()
        anchor = int(self._columns.trees.root[row])
        broken = int(self._broken[anchor])
        if broken == _PASSED:
            return None
        return wording.no_combination(self._query) if broken == _COMBINATION else self._stages[broken].say(anchor)

    def named(self, providers: Collection[UUID] | None = None) -> dict[UUID, Refusal]:
        """The refusals of these providers' trees, or of all roots, in words at once."""
        asked = list(self) if providers is None else providers
        return {provider: refusal for provider in asked if (refusal := self.of(provider)) is not None}

    def _try_combinations(self) -> None:
        """Where each rule can be met, look for one choice that meets them all."""
        request = request_of(self._columns, self._query)
        self._broken[(self._broken == _PASSED) & ~request.anchors] = _COMBINATION
        if len(request.slots) == 1:
            return
        for anchor in np.flatnonzero(self._broken == _PASSED).tolist():
            if next(iter(TreeWalk(self._columns, request, anchor, True, None)), None) is None:
                self._broken[anchor] = _COMBINATION


def candidate_refusals(columns: FleetColumns, query: CandidateQuery) -> Refusals:
    """Why the trees of the fleet that are no candidates are none."""
    return Refusals(columns, query)


def refusal_of(columns: FleetColumns, query: CandidateQuery, provider: UUID) -> Refusal | None:
    """Why the tree of one provider is no candidate; None when it is one."""
    return Refusals(columns, query).of(provider)
