"""Decisions are written once, whole, when a run of the scheduler has ended."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from controlplane.kernel.reasons import Refusal
from placement.candidates.columns import FleetView
from scheduling.conf import scheduling_options
from scheduling.decisions.ledger.fleet_columns import FleetSeen
from scheduling.decisions.ledger.record import DecisionRecord, record_to_blob
from scheduling.decisions.services.notifications import emit_select_destinations
from scheduling.decisions.services.rows import DecisionRows, decision_write
from scheduling.decisions.services.snapshots import fleet_rows, host_names_row
from scheduling.domain.policy import Policy, policy_to_dict
from scheduling.domain.request.schedule_request import ScheduleRequest, request_to_dict
from scheduling.domain.trace.trace import InstanceSelection, Trace
from scheduling.models import (
    DecisionInstance,
    DecisionOutcome,
    DecisionReason,
    DecisionRefusedHosts,
    SchedulingDecision,
)

STAGE_LENGTH = 128


def now_us() -> int:
    """A stopwatch: microseconds from an arbitrary start."""
    return time.monotonic_ns() // 1000


@dataclass(slots=True)
class DecisionDraft:
    """What is known of a decision while it is made. Times in microseconds.

    `seen` is what the engine looked at last, `excluded` the compute nodes it was told to leave out, with the reason.
    `providers` are Placement's of the same look; `chosen_anew` counts how often a chosen host had changed before its
    claim, `rounds_lost` how often there was no room left.
    """

    request: ScheduleRequest
    policy: Policy
    seed: int
    subject: UUID
    timings_us: dict[str, int] = field(default_factory=dict)
    lost_claims: list[dict[str, Any]] = field(default_factory=list)
    started_us: int = field(default_factory=now_us)
    seen: FleetSeen | None = None
    excluded: dict[str, Refusal] = field(default_factory=dict)
    providers: FleetView | None = None
    chosen_anew: int = 0
    rounds_lost: int = 0

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
    began = now_us()
    blob, digest = record_to_blob(_record(draft, trace), bound=scheduling_options().decision_max_bytes)
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
        trace=blob,
        trace_digest=digest,
        stored_bytes=len(blob),
        timings_us={**({} if trace is None else trace.timings_us), **draft.timings_us},
        duration_us=duration_us,
        claims_lost=len(draft.lost_claims),
    )
    rows = DecisionRows(decision, instances=_instances(decision.id, request, selections))
    if trace is not None:
        rows.host_names = host_names_row(hosts=trace.hosts, nodes=trace.nodes)
        decision.host_names = rows.host_names.digest
        _index(rows, trace)
    if draft.seen is not None:
        rows.snapshots = fleet_rows(seen=draft.seen)
        decision.snapshot = rows.snapshots[-1].digest if rows.snapshots else ""
    decision.timings_us["record"] = now_us() - began
    problem = None if outcome is DecisionOutcome.SELECTED else verdict
    with emit_select_destinations(request=request, duration_us=duration_us, problem=problem):
        decision_write(rows)
    return decision


def _record(draft: DecisionDraft, trace: Trace | None) -> DecisionRecord:
    seen = draft.seen
    return DecisionRecord(
        request=request_to_dict(draft.request),
        policy=policy_to_dict(draft.policy),
        lost_claims=tuple(draft.lost_claims),
        excluded=draft.excluded,
        scope=None if seen is None else seen.scope,
        with_candidates=seen is not None and seen.providers is not None,
        trace=trace,
    )


def _index(rows: DecisionRows, trace: Trace) -> None:
    """What lists are searched by: counts of reasons by stage, and a bit for each refused host."""
    groups = [group for each in trace.rounds for group in each.refusals if len(group)]
    if not groups:
        return
    counts: Counter[tuple[str, str]] = Counter()
    refused = np.zeros(trace.host_count, dtype=np.bool_)
    for group in groups:
        counts[group.refusal.stage[:STAGE_LENGTH], group.refusal.reason.value] += len(group)
        refused[group.rows] = True
    decision_id = rows.decision.id
    rows.reasons = [
        DecisionReason(decision_id=decision_id, stage=stage, reason=reason, hosts=hosts)
        for (stage, reason), hosts in counts.items()
    ]
    rows.refused = DecisionRefusedHosts(decision_id=decision_id, bits=np.packbits(refused).tobytes())


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
