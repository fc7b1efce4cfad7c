"""What a policy would have done with the last requests. Nothing is claimed, nothing is written.

Where the fleet that a decision saw is stored, the request runs on it again, and is compared with what was decided then.
Where it is not, the request runs twice on the fleet as it is now, under the policy that counts now and under the one
in question. Either way the seed is the decision's, and what differs is the policy's doing alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from uuid import UUID

from controlplane.kernel.errors import Invalid, InvalidFields, KilonovaError
from controlplane.kernel.texts import Phrase, gettext_noop, joined
from controlplane.kernel.texts import phrase as _
from placement.candidates.columns import FleetView
from scheduling.decisions.selectors.store import decision_fleet, decision_record_of
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest, request_from_dict
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import host_table_from_rows
from scheduling.fleet.cache.host_details import PresentDetails
from scheduling.fleet.cache.host_rows import aggregate_rows, compute_nodes, host_rows
from scheduling.fleet.facts import FleetFacts
from scheduling.fleet.selectors.candidates import placement_read
from scheduling.fleet.selectors.present_facts import present_facts
from scheduling.models import ComputeNode, SchedulingDecision
from scheduling.policies.check import policy_problems
from scheduling.policies.compare import policies_compare
from scheduling.policies.domain.comparison import Agreement, PolicyComparison
from scheduling.policies.selectors.policies import body_completed, policy_active, policy_get, policy_of_row
from scheduling.policies.selectors.trial import policy_trial
from scheduling.schedulers.run import scheduler_run

MAX_DECISIONS = 200
ERROR = "error"
STORED_FLEET, PRESENT_FLEET, MIXED = "stored_fleet", "present_fleet", "mixed"
ON_STORED = gettext_noop(
    "{count} of {all} decisions ran again on the fleet that they saw, which is kept with them, under {policy}, and are "
    "held against what was decided then."
)
ON_PRESENT = gettext_noop(
    "{count} of {all} decisions do not have the fleet they saw any more: their requests ran twice on the fleet as it "
    "is now, under {live} and under {policy}. Instances placed since, their own included, hold their room there."
)


@dataclass(frozen=True, slots=True)
class PreviewCase:
    """One stored decision, which ended as `stored_outcome`.

    `basis` is `stored_fleet` (then `against` and `decided_hosts` are those of the decision) or `present_fleet` (then
    they are those of the policy that counts now, on the fleet of now). `error` is set when a policy could not run.
    """

    decision_id: UUID
    request_id: str
    created_at: datetime
    stored_outcome: str
    basis: str
    against: str
    agreement: str
    moved: int
    decided_hosts: tuple[str, ...]
    preview_hosts: tuple[str, ...]
    verdict: str
    score_difference: float | None
    error: str


@dataclass(frozen=True, slots=True)
class ReplaySum:
    """All replayed decisions of one side together. `hosts` are the different ones that were chosen, `failed` the
    decisions that found none, and `busiest` the host that was chosen most, with how often.
    """

    policy: str
    placed: int
    failed: int
    hosts: int
    busiest: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class PolicyPreview:
    """How the last decisions would have gone. `counts` maps each agreement, and `error`, to a number of decisions.

    `basis` says on what they ran (`stored_fleet`, `present_fleet` or `mixed`), `note` what that means, in words.
    """

    policy: str
    basis: str
    note: str
    decisions: int
    counts: Mapping[str, int]
    cases: tuple[PreviewCase, ...]
    decided: ReplaySum
    previewed: ReplaySum


@dataclass(frozen=True, slots=True)
class _Run:
    """Two plans for one request, on what and against whose."""

    basis: str
    against: str
    found: PolicyComparison
    verdict: str


def policy_preview(*, policy_id: UUID, last: int = 50) -> PolicyPreview:
    """Replay the `last` decisions (1 to MAX_DECISIONS) under a version in whatever state.

    Raises NotFound, Invalid for `last`, InvalidFields naming every field of the body that is wrong.
    """
    if not 1 <= last <= MAX_DECISIONS:
        raise Invalid(_("last is a whole number from 1 to {max_decisions}.", max_decisions=MAX_DECISIONS), field="last")
    row = policy_get(policy_id=policy_id)
    _refuse_problems(body_completed(row.body))
    draft = policy_of_row(row)
    fleet = _PresentFleet(draft)
    cases = tuple(_case(fleet, decision, draft) for decision in SchedulingDecision.objects.all()[:last])
    counts = Counter(case.agreement for case in cases)
    bases = {case.basis for case in cases if case.basis}
    return PolicyPreview(
        policy=draft.version,
        basis=MIXED if len(bases) > 1 else next(iter(bases), STORED_FLEET),
        note=_note(cases, draft, fleet.live),
        decisions=len(cases),
        counts={name: counts[name] for name in (*(each.value for each in Agreement), ERROR)},
        cases=cases,
        decided=_sum(gettext_noop("as decided"), [case.decided_hosts for case in cases if not case.error]),
        previewed=_sum(draft.version, [case.preview_hosts for case in cases if not case.error]),
    )


def _sum(policy: str, hosts: Sequence[tuple[str, ...]]) -> ReplaySum:
    chosen = Counter(host for one in hosts for host in one)
    busiest = min(chosen.items(), key=lambda item: (-item[1], item[0]), default=None)
    return ReplaySum(policy, sum(chosen.values()), sum(not one for one in hosts), len(chosen), busiest)


class _PresentFleet:
    """The fleet as it is now. It is read only if a decision needs it; Placement is read again for each request."""

    def __init__(self, draft: Policy) -> None:
        self.live, self.draft = policy_active(), draft
        self._seen: tuple[FleetView, HostTable] | None = None

    @cached_property
    def nodes(self) -> list[ComputeNode]:
        """The compute nodes, which are read once for all requests."""
        return compute_nodes()

    @cached_property
    def facts(self) -> FleetFacts:
        """The facts that either policy needs, which are read once for all requests."""
        return present_facts(nodes=self.nodes, policies=(self.live, self.draft))

    def run(self, request: ScheduleRequest, seed: int, draft: Policy) -> _Run:
        """Both policies on one table and one set of candidates."""
        fleet_read = placement_read(request=request, nodes=self.nodes)
        table = self._table(fleet_read.fleet)
        one, two = (
            scheduler_run(ScheduleCall(table, request, each, seed, candidates=fleet_read.candidates))
            for each in (self.live, draft)
        )
        return _Run(PRESENT_FLEET, self.live.version, policies_compare(table, one, two), two.verdict)

    def _table(self, fleet: FleetView) -> HostTable:
        """Made again only when Placement's snapshot moved on."""
        if self._seen is None or self._seen[0] is not fleet:
            rows = host_rows(nodes=self.nodes, fleet=fleet, facts=self.facts)
            table = host_table_from_rows(rows, aggregate_rows())
            self._seen = fleet, replace(table, details=PresentDetails())
        return self._seen[1]


def _case(fleet: _PresentFleet, decision: SchedulingDecision, draft: Policy) -> PreviewCase:
    run, error = None, ""
    try:
        run = _run(fleet, decision, draft)
    except (KilonovaError, ValueError, TypeError, KeyError) as failure:
        error = str(failure) or repr(failure)
    found = run.found if run else None
    return PreviewCase(
        decision_id=decision.id,
        request_id=decision.request_id,
        created_at=decision.created_at,
        stored_outcome=decision.outcome,
        basis=run.basis if run else "",
        against=run.against if run else "",
        agreement=found.agreement.value if found else ERROR,
        moved=found.moved if found else 0,
        decided_hosts=found.decided_hosts if found else (),
        preview_hosts=found.other_hosts if found else (),
        verdict=run.verdict if run else "",
        score_difference=found.score_difference if found else None,
        error=error,
    )


def _run(present: _PresentFleet, decision: SchedulingDecision, draft: Policy) -> _Run:
    record = decision_record_of(decision=decision)
    request = request_from_dict(record.request)
    fleet = decision_fleet(decision=decision, record=record) if decision.snapshot else None
    if record.trace is None or fleet is None:
        return present.run(request, decision.seed, draft)
    other = policy_trial(fleet=fleet, request=request, policy=draft, seed=decision.seed, excluded=record.excluded)
    found = policies_compare(fleet.table, record.trace, other)
    return _Run(STORED_FLEET, decision.policy_version, found, other.verdict)


def _note(cases: Sequence[PreviewCase], draft: Policy, live: Policy) -> str:
    counts = Counter(case.basis for case in cases)
    parts = [(ON_STORED, counts[STORED_FLEET]), (ON_PRESENT, counts[PRESENT_FLEET])]
    said = (
        Phrase(text, count=count, all=len(cases), policy=draft.version, live=live.version)
        for text, count in parts
        if count
    )
    return joined(said, gettext_noop("{first} {rest}"))


def _refuse_problems(body: Mapping[str, object]) -> None:
    problems = policy_problems(body)
    if problems:
        raise InvalidFields({each.field: [each.message] for each in problems})
