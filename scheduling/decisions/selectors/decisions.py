"""Reading decisions: who may see which, and what stands in them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from controlplane.identity.domain import Caller
from controlplane.infra.answer_budget import RecentResults, answer_budget
from controlplane.kernel.errors import NotFound, Throttled
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from scheduling.decisions.ledger.trace_content import times_of, with_times
from scheduling.decisions.selectors.replay import ReplayState, replay_of
from scheduling.decisions.selectors.store import decision_record_of
from scheduling.domain.trace.explanation import Explanation, why_not
from scheduling.domain.trace.trace import Trace
from scheduling.models import SchedulingDecision

MAX_CACHED_REPLAYS = 16
_replayed: RecentResults[Trace] = RecentResults(MAX_CACHED_REPLAYS)


@dataclass(frozen=True, slots=True)
class DecisionContent:
    """What a decision keeps besides its columns. `trace` is None when the scheduler failed before it had one.

    `rows_stored` is None for a whole trace; else the hosts of each ranking (the best ones) that are all there is of it,
    and `ranked` how many each ranking had.
    """

    request: Mapping[str, Any]
    policy: Mapping[str, Any]
    lost_claims: tuple[Mapping[str, Any], ...]
    trace: Trace | None
    rows_stored: int | None = None
    ranked: tuple[int, ...] = ()


def decision_list(*, caller: Caller) -> QuerySet[SchedulingDecision]:
    """Those of the caller's project; all of them for an admin. Traces are not loaded."""
    rows = SchedulingDecision.objects.defer("trace").prefetch_related("instances", "reasons")
    return rows if caller.sees_all else rows.filter(project_id=caller.project_id)


def decision_get(*, caller: Caller, decision_id: UUID) -> SchedulingDecision:
    """One decision, trace included. Raises NotFound, also for one of another project."""
    rows = SchedulingDecision.objects.prefetch_related("instances", "reasons").filter(id=decision_id)
    if not caller.sees_all:
        rows = rows.filter(project_id=caller.project_id)
    decision = rows.first()
    if decision is None:
        raise NotFound(_("There is no decision {decision_id}.", decision_id=decision_id))
    return decision


def decision_time(*, decision_id: UUID) -> datetime | None:
    """When it was made; None where it was pruned. For callers that may see what it was about. One query."""
    return SchedulingDecision.objects.filter(id=decision_id).values_list("created_at", flat=True).first()


def decisions_of_instance(*, instance_uuid: UUID) -> QuerySet[SchedulingDecision]:
    """Every decision about one instance, the newest first. For callers that may see the instance."""
    return SchedulingDecision.objects.defer("trace").filter(instances__instance_uuid=instance_uuid)


def decision_content(*, decision: SchedulingDecision) -> DecisionContent:
    """The unpacked content. What was too large to be stored is had again by a replay, while its fleet is kept.

    The replay is bounded, and its answer is kept.

    Raises OtherVersion where this version cannot read it.
    """
    record = decision_record_of(decision=decision)
    whole = _replayed_trace(decision) if record.top_rows is not None else None
    if whole is not None and record.trace is not None:
        record = replace(record, trace=with_times(whole, times_of(record.trace)), top_rows=None, ranked=())
    return DecisionContent(
        request=record.request,
        policy=record.policy,
        lost_claims=record.lost_claims,
        trace=record.trace,
        rows_stored=record.top_rows,
        ranked=record.ranked,
    )


def _replayed_trace(decision: SchedulingDecision) -> Trace | None:
    """The whole trace by a replay, made once; None without its fleet, or while the project may not have another one.

    A decision never changes, so its replay is good for ever; who looks meanwhile is shown what was stored.
    """
    key = f"{decision.pk}:{decision.trace_digest}"
    rows_stored = _replayed.get(key)
    if rows_stored is not None:
        return rows_stored
    try:
        with answer_budget.spend(
            f"replay:{decision.project_id}", seconds_a_minute=work_options().answer_seconds_a_minute
        ):
            replay = replay_of(decision=decision)
    except Throttled:
        return None
    if replay.state is not ReplayState.SAME or replay.trace is None:
        return None
    _replayed.put(key, replay.trace)
    return replay.trace


def decision_trace(*, decision: SchedulingDecision) -> Trace | None:
    """The trace alone."""
    return decision_content(decision=decision).trace


def decision_why_not(*, decision: SchedulingDecision, host: str) -> Explanation:
    """Why `host` (or node) was not chosen, or that it was. Names hosts: for operators only.

    Raises NotFound when the scheduler failed before it looked at any host.
    """
    trace = decision_trace(decision=decision)
    if trace is None:
        raise NotFound(_("This decision looked at no hosts: {verdict}", verdict=decision.verdict))
    return why_not(trace, host)
