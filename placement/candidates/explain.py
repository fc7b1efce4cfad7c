"""Why one provider is no candidate: the first rule it broke, with the numbers."""

from uuid import UUID

from controlplane.kernel.reasons import Refusal, RefusalReason
from placement.candidates.columns import (
    CAPACITY,
    MAX_UNIT,
    MIN_UNIT,
    STEP_SIZE,
    TOTAL,
    USED,
    FleetColumns,
)
from placement.candidates.query import CandidateQuery

STAGE = "placement"
_SHORT = {
    "MEMORY_MB": (RefusalReason.RAM_SHORT, "MB"),
    "VCPU": (RefusalReason.VCPU_SHORT, ""),
    "DISK_GB": (RefusalReason.DISK_SHORT, "GB"),
}


def refusal_of(columns: FleetColumns, query: CandidateQuery, provider: UUID) -> Refusal | None:
    """The first rule of `candidates_find` that the provider breaks; None when it is a candidate."""
    row = columns.row_of.get(provider)
    if row is None:
        return Refusal(RefusalReason.NO_CANDIDATE, detail="no such provider", stage=STAGE)
    return _resources(columns, query, row) or _traits(columns, query, row) or _place(columns, query, row)


def _resources(columns: FleetColumns, query: CandidateQuery, row: int) -> Refusal | None:
    for name, wanted in query.resources.items():
        refusal = _resource(columns, name, wanted, row)
        if refusal is not None:
            return refusal
    return None


def _resource(columns: FleetColumns, name: str, wanted: int, row: int) -> Refusal | None:
    numbers = columns.numbers.get(name)
    if numbers is None or not numbers[MAX_UNIT, row]:
        return _short(name, wanted, 0, None)
    least, most, step = (int(numbers[field, row]) for field in (MIN_UNIT, MAX_UNIT, STEP_SIZE))
    if not least <= wanted <= most or wanted % step:
        allowed = f"{least} to {most} in steps of {step}"
        return Refusal(RefusalReason.AMOUNT_NOT_ALLOWED, wanted=wanted, available=allowed, detail=name, stage=STAGE)
    capacity, used = int(numbers[CAPACITY, row]), int(numbers[USED, row])
    if used + wanted > capacity:
        return _short(name, wanted, max(0, capacity - used), int(numbers[TOTAL, row]), capacity)
    return None


def _short(name: str, wanted: int, free: int, total: int | None, capacity: int = 0) -> Refusal:
    reason, unit = _SHORT.get(name, (RefusalReason.RESOURCE_SHORT, ""))
    ratio = round(capacity / total, 3) if total else None
    return Refusal(reason, wanted=wanted, available=free, unit=unit, detail=name, stage=STAGE, total=total, ratio=ratio)


def _traits(columns: FleetColumns, query: CandidateQuery, row: int) -> Refusal | None:
    missing = sorted(name for name in query.required_traits if not _flag(columns, name, row))
    if missing:
        return Refusal(RefusalReason.TRAIT_MISSING, wanted=", ".join(missing), stage=STAGE)
    present = sorted(name for name in query.forbidden_traits if _flag(columns, name, row))
    if present:
        return Refusal(RefusalReason.TRAIT_FORBIDDEN, wanted=", ".join(present), stage=STAGE)
    return None


def _flag(columns: FleetColumns, trait: str, row: int) -> bool:
    column = columns.traits.get(trait)
    return column is not None and bool(column[row])


def _place(columns: FleetColumns, query: CandidateQuery, row: int) -> Refusal | None:
    for alternatives in query.member_of:
        if not _member(columns, alternatives, row):
            names = ", ".join(sorted(map(str, alternatives)))
            return Refusal(RefusalReason.NOT_IN_AGGREGATE, wanted=names, stage=STAGE)
    if _member(columns, query.forbidden_aggregates, row):
        return Refusal(RefusalReason.NO_CANDIDATE, detail="in a forbidden aggregate", stage=STAGE)
    if query.in_tree is not None and not _same_tree(columns, query.in_tree, row):
        return Refusal(RefusalReason.NO_CANDIDATE, detail=f"not in the tree of {query.in_tree}", stage=STAGE)
    return None


def _member(columns: FleetColumns, aggregates: frozenset[UUID], row: int) -> bool:
    root = int(columns.root[row])
    found = (columns.aggregates.get(aggregate) for aggregate in aggregates)
    return any(column is not None and bool(column[row] or column[root]) for column in found)


def _same_tree(columns: FleetColumns, provider: UUID, row: int) -> bool:
    other = columns.row_of.get(provider)
    return other is not None and bool(columns.root[other] == columns.root[row])
