"""Running a stored decision again, on the fleet that it saw."""

from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import Phrase, gettext_noop
from placement.candidates import columns_of
from scheduling.decisions.ledger.content import OtherVersion
from scheduling.decisions.ledger.difference import TraceDifference, first_difference
from scheduling.decisions.ledger.fleet_columns import FleetSeen
from scheduling.decisions.ledger.record import DecisionRecord, trace_digest
from scheduling.decisions.ledger.trace_content import with_limits_known
from scheduling.decisions.ledger.trace_cut import as_cut
from scheduling.decisions.selectors.store import decision_fleet, decision_record_of
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.policy import policy_from_dict
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest, request_from_dict
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.engine import candidate_set
from scheduling.models import SchedulingDecision
from scheduling.request_filters import filter_request, surroundings_of
from scheduling.schedulers.run import scheduler_run


class ReplayState(StrEnum):
    """What a replay found."""

    SAME = "same"
    DIFFERENT = "different"
    FAILED = "failed"
    NO_TRACE = "no_trace"
    NO_SNAPSHOT = "no_snapshot"
    PRUNED = "pruned"
    OTHER_VERSION = "other_version"


SENTENCES = {
    ReplayState.SAME: gettext_noop("Replay identical."),
    ReplayState.DIFFERENT: gettext_noop("Replay differs."),
    ReplayState.FAILED: gettext_noop("The replay could not be run."),
    ReplayState.NO_TRACE: gettext_noop(
        "The scheduler failed before it looked at any host, so there is nothing to compare."
    ),
    ReplayState.NO_SNAPSHOT: gettext_noop("The fleet that this decision saw was not kept."),
    ReplayState.PRUNED: gettext_noop("The fleet that this decision saw was kept, but has been pruned since."),
    ReplayState.OTHER_VERSION: gettext_noop("The fleet that this decision saw was written by another version."),
}


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer. `difference` is the first place that is not alike; `detail` says why a replay failed."""

    state: ReplayState
    difference: TraceDifference | None = None
    detail: str = ""
    trace: Trace | None = None

    @property
    def sentence(self) -> Phrase:
        """The answer in words, for operators."""
        found, where = Phrase(SENTENCES[self.state]), self.difference
        if where is not None:
            return Phrase(
                gettext_noop("{sentence} First at {path}: {stored} then, {replayed} now."),
                sentence=found,
                path=where.path,
                stored=where.stored,
                replayed=where.replayed,
            )
        if not self.detail:
            return found
        return Phrase(gettext_noop("{sentence} {detail}"), sentence=found, detail=self.detail)


def replay_of(*, decision: SchedulingDecision) -> Replay:
    """Run it again with what is stored and compare all but the times."""
    record = decision_record_of(decision=decision)
    if record.trace is None:
        return Replay(ReplayState.NO_TRACE)
    if not decision.snapshot:
        return Replay(ReplayState.NO_SNAPSHOT)
    try:
        fleet = decision_fleet(decision=decision, record=record)
    except OtherVersion as error:
        return Replay(ReplayState.OTHER_VERSION, detail=error.message)
    if fleet is None:
        return Replay(ReplayState.PRUNED)
    try:
        trace = rerun(record, fleet, seed=decision.seed, policy_version=decision.policy_version)
    except KilonovaError as error:
        return Replay(ReplayState.FAILED, detail=error.message)
    return _compared(decision, record, trace)


def rerun(record: DecisionRecord, fleet: FleetSeen, *, seed: int, policy_version: str) -> Trace:
    """The scheduler's answer to the same question. Raises what it raises."""
    request, policy = request_from_dict(record.request), policy_from_dict(record.policy, version=policy_version)
    asked = filter_request(request, surroundings_of(fleet.table, policy)).request
    candidates = fleet_candidates(fleet, asked) if record.with_candidates else None
    return scheduler_run(
        ScheduleCall(fleet.table, request, policy, seed, candidates=candidates, claims_lost=record.excluded or {})
    )


def fleet_candidates(fleet: FleetSeen, request: ScheduleRequest) -> CandidateSet | None:
    """What Placement's search says of a fleet for a request; None where the fleet was kept without providers."""
    if fleet.providers is None:
        return None
    target = None if fleet.scope is None else UUID(fleet.scope)
    query = candidate_query(request, resource_request(request), in_tree=target)
    nodes = {UUID(uuid): uuid for uuid in fleet.table.uuids}
    return candidate_set(columns_of(each for each in fleet.providers if each is not None), query, nodes, target=target)


def _compared(decision: SchedulingDecision, record: DecisionRecord, trace: Trace) -> Replay:
    stored = record.trace
    if stored is None:
        raise ValueError("a decision without a trace has no replay")
    # The sentences say what was decided and decide nothing: another release may word them otherwise.
    trace = with_limits_known(replace(trace, verdict=stored.verdict, verdict_redacted=stored.verdict_redacted), stored)
    if trace_digest(trace) == decision.trace_digest:
        return Replay(ReplayState.SAME, trace=trace)
    if record.top_rows is None:
        return Replay(ReplayState.DIFFERENT, first_difference(stored, trace), trace=trace)
    found = first_difference(stored, as_cut(trace, record.top_rows))
    beyond = Phrase(gettext_noop("The difference is beyond what was kept of the trace."))
    return Replay(ReplayState.DIFFERENT, found, "" if found else beyond, trace=trace)
