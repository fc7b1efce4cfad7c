"""What stands around a decision: the version it followed, the fleet it saw, what a shadow policy said."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from scheduling.models import FleetSnapshot, SchedulerPolicy, SchedulingDecision, ShadowResult


class SnapshotState(StrEnum):
    """Whether the fleet that a decision saw can still be looked at, and so replayed."""

    STORED = "stored"
    PRUNED = "pruned"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """For operators. `policy_id` is None for the defaults and for versions that are gone; `shadows` newest first.

    `snapshot_bytes`: what the snapshot takes, without the fleet that it may be the difference to.
    """

    policy_id: UUID | None
    snapshot: SnapshotState
    snapshot_bytes: int
    shadows: tuple[ShadowResult, ...]


def decision_context(*, decision: SchedulingDecision) -> DecisionContext:
    """Three queries."""
    size = FleetSnapshot.objects.filter(digest=decision.snapshot).values_list("size", flat=True).first()
    stored = SnapshotState.PRUNED if size is None else SnapshotState.STORED
    return DecisionContext(
        policy_id=_policy_id(decision.policy_version),
        snapshot=stored if decision.snapshot else SnapshotState.NONE,
        snapshot_bytes=size or 0,
        shadows=tuple(ShadowResult.objects.filter(decision=decision).select_related("policy")),
    )


def _policy_id(label: str) -> UUID | None:
    """The version that is called so: `default-v3`."""
    name, _, version = label.rpartition("-v")
    # No version has more digits than its column holds.
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else 0
    return SchedulerPolicy.objects.filter(name=name, version=number).values_list("id", flat=True).first()
