"""Decisions are written once, whole, when a run of the scheduler has ended."""

import json
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from scheduling.domain.policy import Policy, policy_to_dict
from scheduling.domain.request import ScheduleRequest, request_to_dict
from scheduling.domain.trace import InstanceSelection, Trace
from scheduling.domain.trace_codec import trace_to_dict
from scheduling.models import DecisionInstance, DecisionOutcome, SchedulingDecision
from scheduling.selectors.decisions import BLOB_FORMAT


def now_us() -> int:
    """A stopwatch: microseconds from an arbitrary start."""
    return time.monotonic_ns() // 1000


@dataclass(slots=True)
class DecisionDraft:
    """What is known of a decision while it is made. Times in microseconds."""

    request: ScheduleRequest
    policy: Policy
    seed: int
    subject: UUID
    timings_us: dict[str, int] = field(default_factory=dict)
    lost_claims: list[dict[str, Any]] = field(default_factory=list)
    started_us: int = field(default_factory=now_us)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add what the block takes to `stage`; rounds add up."""
        started = now_us()
        try:
            yield
        finally:
            self.timings_us[stage] = self.timings_us.get(stage, 0) + now_us() - started

    def elapsed_us(self) -> int:
        """Microseconds since the draft was begun."""
        return now_us() - self.started_us


def decision_record(*, draft: DecisionDraft, trace: Trace, duration_us: int) -> SchedulingDecision:
    """Save a run that ended as its trace says: hosts chosen and claimed, or none valid."""
    return _save(
        draft,
        outcome=DecisionOutcome(trace.outcome.value),
        verdict=trace.verdict,
        verdict_redacted=trace.verdict_redacted,
        trace=trace,
        duration_us=duration_us,
        selections=trace.selections if trace.outcome.value == DecisionOutcome.SELECTED else (),
    )


def decision_record_error(
    *, draft: DecisionDraft, trace: Trace | None, verdict: str, verdict_redacted: str, duration_us: int
) -> SchedulingDecision:
    """Save a run that the scheduler could not finish: a plug-in failed, or every claim was lost to others."""
    return _save(
        draft,
        outcome=DecisionOutcome.ERROR,
        verdict=verdict,
        verdict_redacted=verdict_redacted,
        trace=trace,
        duration_us=duration_us,
        selections=(),
    )


def _save(
    draft: DecisionDraft,
    *,
    outcome: DecisionOutcome,
    verdict: str,
    verdict_redacted: str,
    trace: Trace | None,
    duration_us: int,
    selections: Sequence[InstanceSelection],
) -> SchedulingDecision:
    request = draft.request
    decision = SchedulingDecision(
        id=uuid4(),
        request_id=request.request_id,
        subject=draft.subject,
        project_id=UUID(request.project_id),
        outcome=outcome,
        verdict=verdict,
        verdict_redacted=verdict_redacted,
        policy_version=draft.policy.version,
        seed=draft.seed,
        host_count=0 if trace is None else trace.host_count,
        instance_count=len(request.instance_uuids),
        trace=_packed(draft, trace),
        timings_us={**({} if trace is None else trace.timings_us), **draft.timings_us},
        duration_us=duration_us,
    )
    with transaction.atomic():
        decision.save(force_insert=True)
        DecisionInstance.objects.bulk_create(_instances(decision.id, request, selections))
    return decision


def _packed(draft: DecisionDraft, trace: Trace | None) -> bytes:
    content: Mapping[str, Any] = {
        "format": BLOB_FORMAT,
        "request": request_to_dict(draft.request),
        "policy": policy_to_dict(draft.policy),
        "lost_claims": draft.lost_claims,
        "trace": None if trace is None else trace_to_dict(trace),
    }
    return zlib.compress(json.dumps(content, separators=(",", ":"), default=str).encode(), level=6)


def _instances(
    decision_id: UUID, request: ScheduleRequest, selections: Sequence[InstanceSelection]
) -> list[DecisionInstance]:
    chosen = {each.instance_uuid: each.selected for each in selections}
    return [
        DecisionInstance(
            decision_id=decision_id,
            position=position,
            instance_uuid=UUID(uuid),
            host=chosen[uuid].host if uuid in chosen else "",
            compute_node_uuid=UUID(chosen[uuid].compute_node_uuid) if uuid in chosen else None,
        )
        for position, uuid in enumerate(request.instance_uuids)
    ]
