"""Which providers can give all of a request: vector operations over the whole fleet, rule after rule."""

from dataclasses import dataclass
from uuid import UUID

import numpy as np

from placement.candidates.columns import (
    CAPACITY,
    MAX_UNIT,
    MIN_UNIT,
    STEP_SIZE,
    USED,
    Bools,
    FleetColumns,
)
from placement.candidates.query import CandidateQuery


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """`uuids` are the candidates, cut to the limit; `passes` says it for every row of the columns, limit or not."""

    uuids: tuple[UUID, ...]
    passes: Bools


def candidates_find(columns: FleetColumns, query: CandidateQuery) -> CandidateResult:
    """The providers that meet the query now, in the order of the columns. Why another does not: `refusal_of`."""
    passes = np.ones(len(columns), dtype=np.bool_)
    for name, wanted in query.resources.items():
        passes &= _can_give(columns, name, wanted)
    for trait in query.required_traits:
        passes &= _has(columns, trait)
    for trait in query.forbidden_traits:
        passes &= ~_has(columns, trait)
    for alternatives in query.member_of:
        passes &= _in_any(columns, alternatives)
    passes &= ~_in_any(columns, query.forbidden_aggregates)
    if query.in_tree is not None:
        passes &= _in_tree(columns, query.in_tree)
    rows = np.flatnonzero(passes)[: query.limit]
    return CandidateResult(uuids=tuple(columns.uuids[row] for row in rows), passes=passes)


def _nobody(columns: FleetColumns) -> Bools:
    return np.zeros(len(columns), dtype=np.bool_)


def _can_give(columns: FleetColumns, name: str, wanted: int) -> Bools:
    numbers = columns.numbers.get(name)
    if numbers is None:
        return _nobody(columns)
    fits: Bools = numbers[USED] + wanted <= numbers[CAPACITY]
    fits &= (numbers[MIN_UNIT] <= wanted) & (numbers[MAX_UNIT] >= wanted)
    fits &= wanted % numbers[STEP_SIZE] == 0
    return fits


def _has(columns: FleetColumns, trait: str) -> Bools:
    return columns.traits.get(trait, _nobody(columns))


def _in_any(columns: FleetColumns, aggregates: frozenset[UUID]) -> Bools:
    """Members of one of them. A provider also counts as a member where its root is one."""
    member = _nobody(columns)
    for aggregate in aggregates:
        member |= columns.aggregates.get(aggregate, member)
    return member | member[columns.root]


def _in_tree(columns: FleetColumns, provider: UUID) -> Bools:
    row = columns.row_of.get(provider)
    if row is None:
        return _nobody(columns)
    same: Bools = columns.root == columns.root[row]
    return same
