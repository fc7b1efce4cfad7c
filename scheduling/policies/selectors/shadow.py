"""What the shadow policy found so far."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Avg, Count, Max, Min, QuerySet, Sum

from scheduling.models import SHADOW_ERROR, ShadowResult
from scheduling.policies.domain.comparison import Agreement
from scheduling.policies.selectors.policies import policy_get

MOVES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ShadowMove:
    """The shadow would have taken the second host for the first, this often. An empty name: no host."""

    decided_host: str
    shadow_host: str
    count: int


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """All results of one version. Shares are of the runs without error; None while there are none.

    `agreement` counts runs where every instance would have the host it has, and requests that both refuse.
    `score_difference`: points the shadow gives to its choices above those decided, on average. `fragmentation`: part
    (0 to 1) of the room left that larger instances could not use; on average over runs that both placed. `moves` are
    the most frequent pairs of hosts.
    """

    policy: str
    shadow: bool
    share: float
    runs: int
    outcomes: Mapping[str, int]
    agreement: float | None
    instances: int
    moved_instances: int
    score_difference: float | None
    decided_fragmentation: float | None
    shadow_fragmentation: float | None
    moves: tuple[ShadowMove, ...]
    duration_us: float | None
    first_at: datetime | None
    last_at: datetime | None


def shadow_results(*, policy_id: UUID) -> QuerySet[ShadowResult]:
    """Results of one version, the newest first. Raises NotFound."""
    return ShadowResult.objects.filter(policy_id=policy_get(policy_id=policy_id).id)


def shadow_report(*, policy_id: UUID) -> ShadowReport:
    """Everything about one version as shadow. A constant number of queries. Raises NotFound."""
    row = policy_get(policy_id=policy_id)
    results = shadow_results(policy_id=policy_id)
    outcomes = {each.value: 0 for each in Agreement} | {SHADOW_ERROR: 0}
    outcomes |= dict(results.order_by().values_list("outcome").annotate(count=Count("id")))
    known = sum(outcomes.values()) - outcomes[SHADOW_ERROR]
    sums = results.aggregate(
        instances=Sum("instance_count", default=0),
        moved=Sum("moved_count", default=0),
        score=Avg("score_difference"),
        duration=Avg("duration_us"),
        first=Min("created_at"),
        last=Max("created_at"),
    )
    rooms = results.filter(decided_fragmentation__isnull=False, shadow_fragmentation__isnull=False)
    fragments = rooms.aggregate(decided=Avg("decided_fragmentation"), shadow=Avg("shadow_fragmentation"))
    return ShadowReport(
        policy=row.label,
        shadow=row.shadow,
        share=row.shadow_share,
        runs=sum(outcomes.values()),
        outcomes=outcomes,
        agreement=(outcomes[Agreement.SAME] + outcomes[Agreement.BOTH_FAIL]) / known if known else None,
        instances=sums["instances"],
        moved_instances=sums["moved"],
        score_difference=sums["score"],
        decided_fragmentation=fragments["decided"],
        shadow_fragmentation=fragments["shadow"],
        moves=_moves(results),
        duration_us=sums["duration"],
        first_at=sums["first"],
        last_at=sums["last"],
    )


def _moves(results: QuerySet[ShadowResult]) -> tuple[ShadowMove, ...]:
    pairs = (
        results.filter(moved_count__gt=0)
        .order_by()
        .values_list("decided_host", "shadow_host")
        .annotate(count=Count("id"))
        .order_by("-count", "decided_host", "shadow_host")
    )
    return tuple(ShadowMove(*pair) for pair in pairs[:MOVES_SHOWN])
