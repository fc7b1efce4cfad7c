"""Each broken rule as a typed reason. `anchor` is the row of the root of the tree that broke it."""

from uuid import UUID

from controlplane.kernel.reasons import Refusal, RefusalReason
from placement.candidates.columns import Bools, FleetView
from placement.candidates.query import CandidateQuery, RequestGroup
from placement.domain import InventoryUsage

STAGE = "placement"
_SHORT = {
    "MEMORY_MB": (RefusalReason.RAM_SHORT, "MB"),
    "VCPU": (RefusalReason.VCPU_SHORT, ""),
    "DISK_GB": (RefusalReason.DISK_SHORT, "GB"),
}


def amount(fleet: FleetView, group: RequestGroup, name: str, rows: Bools, anchor: int) -> Refusal:
    """Too little of a class, or not in this piece: the numbers of whoever has most of it among `rows` of the tree."""
    reached = [fleet.fact(row).inventories.get(name) for row in fleet.reached(anchor) if rows[row]]
    held = [usage for usage in reached if usage is not None]
    if not held:
        return _short(group, name, 0)
    best = max(held, key=_left)
    if _left(best) < group.resources[name]:
        return _short(group, name, best.free, best.total, round(best.capacity / best.total, 3))
    allowed = f"{best.min_unit} to {best.max_unit} in steps of {best.step_size}"
    wanted, detail = group.resources[name], _named(group, name)
    return Refusal(RefusalReason.AMOUNT_NOT_ALLOWED, wanted=wanted, available=allowed, detail=detail, stage=STAGE)


def _left(usage: InventoryUsage) -> int:
    return usage.capacity - usage.used


def _short(group: RequestGroup, name: str, free: int, total: int | None = None, ratio: float | None = None) -> Refusal:
    reason, unit = _SHORT.get(name, (RefusalReason.RESOURCE_SHORT, ""))
    wanted = group.resources[name]
    detail = _named(group, name)
    return Refusal(
        reason, wanted=wanted, available=free, unit=unit, detail=detail, stage=STAGE, total=total, ratio=ratio
    )


def traits_missing(fleet: FleetView, group: RequestGroup, anchor: int) -> Refusal:
    """The required traits that nobody in the tree has; all of them where only the combination is missing."""
    present = _traits_in_tree(fleet, anchor)
    missing = [wanted for wanted in group.required if present.isdisjoint(wanted)] or list(group.required)
    text = ", ".join(sorted(" or ".join(sorted(wanted)) for wanted in missing))
    return Refusal(RefusalReason.TRAIT_MISSING, wanted=text, detail=_named(group), stage=STAGE)


def traits_forbidden(fleet: FleetView, group: RequestGroup, anchor: int) -> Refusal:
    """The forbidden traits that providers of the tree have."""
    present = ", ".join(sorted(group.forbidden & _traits_in_tree(fleet, anchor)))
    return Refusal(RefusalReason.TRAIT_FORBIDDEN, wanted=present, detail=_named(group), stage=STAGE)


def not_member(fleet: FleetView, group: RequestGroup, anchor: int) -> Refusal:
    """The first set of aggregates that the tree has no part in; the first of all where members are only in parts."""
    present = frozenset[UUID]().union(*(fleet.fact(row).aggregates for row in fleet.trees.rows_of(anchor)))
    missing = next((wanted for wanted in group.member_of if present.isdisjoint(wanted)), group.member_of[0])
    text = ", ".join(sorted(map(str, missing)))
    return Refusal(RefusalReason.NOT_IN_AGGREGATE, wanted=text, detail=_named(group), stage=STAGE)


def forbidden_member(fleet: FleetView, group: RequestGroup, anchor: int) -> Refusal:
    """The tree is in an aggregate that the request forbids."""
    return _no_candidate(group, "in a forbidden aggregate")


def other_tree(fleet: FleetView, group: RequestGroup, anchor: int) -> Refusal:
    """The tree is not the one that the request names."""
    return _no_candidate(group, f"not in the tree of {group.in_tree}")


def root_traits(fleet: FleetView, query: CandidateQuery, anchor: int) -> Refusal:
    """The traits that the root lacks, or has and should not have."""
    traits = fleet.fact(anchor).traits
    missing = ", ".join(sorted(query.root_required - traits))
    if missing:
        return Refusal(RefusalReason.TRAIT_MISSING, wanted=missing, detail="root", stage=STAGE)
    present = ", ".join(sorted(query.root_forbidden & traits))
    return Refusal(RefusalReason.TRAIT_FORBIDDEN, wanted=present, detail="root", stage=STAGE)


def no_combination(query: CandidateQuery) -> Refusal:
    """Each rule can be met by itself, but no choice meets all at once."""
    parts = ["no choice of its providers meets all groups at once"]
    if query.group_policy:
        parts.append(f"group_policy {query.group_policy}")
    if query.same_subtree:
        parts.append("same_subtree " + "; ".join(",".join(sorted(suffixes)) for suffixes in query.same_subtree))
    return Refusal(RefusalReason.NO_CANDIDATE, detail=", ".join(parts), stage=STAGE)


def unknown_provider() -> Refusal:
    """The fleet has no such provider."""
    return Refusal(RefusalReason.NO_CANDIDATE, detail="no such provider", stage=STAGE)


def _no_candidate(group: RequestGroup, text: str) -> Refusal:
    return Refusal(RefusalReason.NO_CANDIDATE, detail=_named(group, text), stage=STAGE)


def _named(group: RequestGroup, text: str = "") -> str:
    """The text, with the group where it is not the un-suffixed one."""
    if not group.suffix:
        return text
    return f"{text}, group {group.suffix}" if text else f"group {group.suffix}"


def _traits_in_tree(fleet: FleetView, anchor: int) -> frozenset[str]:
    return frozenset[str]().union(*(fleet.fact(row).traits for row in fleet.trees.rows_of(anchor)))
