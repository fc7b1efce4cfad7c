"""From a request to claimed hosts: look at the fleet, let the engine choose, claim, and keep the decision.

The claim decides, not the snapshot: when somebody else took the room first, the fleet is read again and the engine
runs again, for a bounded number of rounds. The whole batch is claimed in one transaction or not at all.
"""

import logging
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from controlplane.kernel.errors import Conflict, KilonovaError, NoCapacity
from controlplane.kernel.gc_pause import gc_paused
from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import phrase as _
from placement.domain import Claim, CountLimit
from placement.services import allocations_free
from scheduling.conf import scheduling_options
from scheduling.decisions.ledger.fleet_columns import fleet_seen
from scheduling.decisions.services.record import DecisionDraft, decision_record, decision_record_error, now_us
from scheduling.destinations.selectors.claimed_hosts import hosts_of_nodes
from scheduling.destinations.selectors.inputs import SchedulingInputs
from scheduling.destinations.selectors.plan_check import plan_holds
from scheduling.destinations.services.losses import LOSSES_BEFORE_SKIP, At, losses_by_node, losses_counted
from scheduling.destinations.services.neighbours import Place, claims_make_among
from scheduling.destinations.services.selections import Destinations, Selection, allocations_of, destinations_of
from scheduling.domain.hosts.candidates import Amounts
from scheduling.domain.hosts.topology_needs import (
    may_have_topology,
    needs_from_dict,
    needs_to_dict,
    needs_within,
    topology_needs,
)
from scheduling.domain.neighbours import neighbour_rules, neighbour_terms
from scheduling.domain.policy import DEFAULT_POLICY
from scheduling.domain.request.group_counts import group_count_limits, limits_on
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import InstanceSelection, Outcome, Trace
from scheduling.errors import ClaimsExhausted, NoValidHost
from scheduling.fleet.selectors.candidates import RequestRead, request_read
from scheduling.fleet.selectors.hosts import host_takes_new_instances
from scheduling.policies.selectors.policies import policies_as_polled, shadow_is_known
from scheduling.policies.services.shadow import shadow_offer
from scheduling.schedulers.run import scheduler_run, view_age_allowed_s
from scheduling.topology.domain.grant import TopologyNeeds
from scheduling.topology.services.claims import TopologyRequest, claims_free

log = logging.getLogger(__name__)

# So often another choice is made because the chosen host has changed; then it is taken as it is. Who has to choose anew
# is slower than who has not, so that one scheduler can outrun another several times in a row.
CHOICES_ANEW = 40


@gc_paused()
def destinations_select(
    *,
    request: ScheduleRequest,
    inputs: SchedulingInputs,
    subject: UUID | None = None,
) -> Destinations:
    """Choose and claim a host for each instance of the batch; save why. Consumers are the instances' uuids.

    May be run again after being cut off anywhere: claims that an earlier run left for these instances are freed first
    (`inputs.is_retry`), so the caller must own the work (lease) and must not have used them yet. `subject` names the
    decision's reservation; the first instance where none is given. The first round goes by `inputs`, each later one
    polls again. Raises NoValidHost (ClaimsExhausted when every round lost its claim), always with a saved decision.
    """
    uuids = [UUID(text) for text in request.instance_uuids]
    draft = DecisionDraft(
        request=request,
        policy=DEFAULT_POLICY,
        seed=secrets.randbits(31),
        subject=subject or uuids[0],
    )
    with draft.timed("free"):
        if inputs.is_retry:
            free = claims_free if may_have_topology(request) else allocations_free
            free(uuids)
            inputs = inputs.polled_again()  # cells and devices that were freed are in no earlier poll
    losses: Counter[At] = Counter()
    trace: Trace | None = None
    while _may_go_on(draft):
        trace = _planned(draft, inputs, losses)
        if trace.outcome is not Outcome.SELECTED:
            raise _no_valid_host(draft, trace)
        if _claimed(draft, trace, losses):
            decision = decision_record(draft=draft, trace=trace, duration_us=draft.elapsed_us())
            log.info("decision=%s request_id=%s %s", decision.id, request.request_id, trace.verdict)
            _offer(decision.id, draft, trace)
            return destinations_of(
                trace,
                decision_id=decision.id,
                count_limits=_count_limits(draft),
                topology=needs_to_dict(_topology(draft)),
                neighbours=_neighbours(draft),
            )
    raise _exhausted(draft, trace)


def destination_check(*, request: ScheduleRequest, inputs: SchedulingInputs) -> UUID:
    """Ask whether the one host that the request forces is still right for its instance, which has a new image.

    Nothing is claimed, and the decision is saved. Returns its id. Raises NoValidHost.
    """
    uuid = UUID(request.instance_uuids[0])
    draft = DecisionDraft(request=request, policy=DEFAULT_POLICY, seed=secrets.randbits(31), subject=uuid)
    trace = _scheduled(draft, inputs, Counter(), is_first=True)
    if trace.outcome is not Outcome.SELECTED:
        raise _no_valid_host(draft, trace)
    return decision_record(draft=draft, trace=trace, duration_us=draft.elapsed_us()).id


def alternate_claim(*, instance_uuid: UUID, selection: Selection, project_id: UUID | str, user_id: UUID | str) -> None:
    """Claim an alternate for one instance that holds nothing now. No new scheduling.

    Raises NoCapacity when the room is gone, cells and devices included, the instance would break the rule of its group
    or one about neighbours there, or the host has been disabled, went down or left its zone since it was ranked.
    """
    if not host_takes_new_instances(host=selection.host):
        raise NoCapacity(_("Host {host} is down or disabled now.", host=selection.host), host=selection.host)
    claim = Claim(
        consumer_uuid=instance_uuid,
        project_id=project_id,
        user_id=user_id,
        resources=selection.allocations,
        limits=_limits_on(selection.compute_node_uuid, selection.count_limits, selection.allocations),
    )
    needs = needs_within(needs_from_dict(selection.topology), selection.limits)
    claims_make_among(
        [claim],
        [TopologyRequest(instance_uuid, selection.compute_node_uuid, needs)] if needs else [],
        [
            Place(
                consumer=str(instance_uuid),
                node=selection.compute_node_uuid,
                host=selection.host,
                zone=selection.availability_zone,
                default_zone=policies_as_polled().policy().options.default_availability_zone,
                rules=neighbour_rules(selection.limits, selection.neighbours),
            )
        ],
    )


def _neighbours(draft: DecisionDraft) -> dict[str, Any]:
    return neighbour_terms(draft.request, draft.policy.filters)


def _count_limits(draft: DecisionDraft) -> dict[str, int]:
    """What the claim itself keeps of the group's rule, also on a host that was forced, but for legacy groups."""
    return group_count_limits(draft.request.group, () if draft.request.is_forced else draft.policy.filters)


def _limits_on(node: UUID, count_limits: Mapping[str, int], allocations: Amounts) -> tuple[CountLimit, ...]:
    """Placement counts who holds something of a provider: of the node's own, whatever else is claimed below it.

    Where nothing of the node itself is claimed, there is nothing to count by, and the filter alone keeps the rule.
    """
    if node not in allocations:
        return ()
    return limits_on(node, count_limits)


def _may_go_on(draft: DecisionDraft) -> bool:
    """Bounded twice: claims lost for want of room, and choices that had changed, which without a guard are none."""
    rounds = scheduling_options().claim_rounds
    return draft.rounds_lost < rounds and draft.chosen_anew < CHOICES_ANEW + rounds


def _planned(draft: DecisionDraft, inputs: SchedulingInputs, losses: Counter[At]) -> Trace:
    """A plan on a view as old as the policy's scheduler allows, or, where it finds none or does not hold, on a new one.

    After a lost claim the view is always new.
    """
    is_first = not draft.lost_claims
    trace = _scheduled(draft, inputs, losses, is_first=is_first)
    if not is_first or not view_age_allowed_s(draft.policy) or plan_holds(trace):
        return trace
    return _scheduled(draft, inputs, losses, is_first=False)


def _scheduled(draft: DecisionDraft, inputs: SchedulingInputs, losses: Counter[At], *, is_first: bool) -> Trace:
    """One look at the fleet and one run of the scheduler. What it refuses to do ends as a decision too."""
    try:
        fleet_read = _fleet_read(draft, inputs, is_first=is_first)
        draft.seen = fleet_seen(fleet_read.table, fleet_read.candidates)
        draft.providers = None if fleet_read.candidates is None else fleet_read.candidates.fleet
        skipped = {node: None for (node, _), count in losses.items() if count >= LOSSES_BEFORE_SKIP}
        draft.excluded = {node: _lost(draft, node) for node in skipped}
        with draft.timed("schedule"):
            return scheduler_run(
                ScheduleCall(
                    fleet_read.table,
                    draft.request,
                    draft.policy,
                    draft.seed,
                    candidates=fleet_read.candidates,
                    claims_lost=draft.excluded,
                    stopwatch=now_us,
                )
            )
    except KilonovaError as error:
        raise _failed(draft, error) from error


def _fleet_read(draft: DecisionDraft, inputs: SchedulingInputs, *, is_first: bool) -> RequestRead:
    """The policy that counts now and the fleet as it is now; after a lost claim whatever the scheduler allows."""
    with draft.timed("load"):
        if draft.seen is not None:  # a later round: what was polled for the first one is old
            inputs = inputs.polled_again()
        draft.policy = inputs.policies.policy()
        age_s = view_age_allowed_s(draft.policy) if is_first else 0.0
        return request_read(
            request=draft.request, policy=draft.policy, facts=inputs.facts, poll=inputs.poll, max_age_s=age_s
        )


def _lost(draft: DecisionDraft, node: str) -> Refusal:
    """The newest loss of this compute node, as a reason with its numbers."""
    last = [one for one in draft.lost_claims if one["compute_node_uuid"] == node][-1]
    return Refusal(
        RefusalReason.CLAIM_LOST,
        wanted=last["wanted"],
        available=last["free"],
        detail=last.get("sentence", last["resource_class"]),
    )


def _claimed(draft: DecisionDraft, trace: Trace, losses: Counter[At]) -> bool:
    request = draft.request
    claims = [_as_seen(draft, claim, each) for claim, each in zip(_claims(draft, trace), trace.selections, strict=True)]
    try:
        with draft.timed("claim"):
            claims_make_among(claims, _topology_requests(draft, trace), _places(draft, claims, trace))
    except NoCapacity as error:
        lost = losses_by_node(error.extra["shortages"], claims, trace)
        draft.lost_claims += lost
        draft.rounds_lost += 1
        losses.update(losses_counted(lost))
        _join_group(draft, lost)
        log.info("request_id=%s lost a claim: %s", request.request_id, error.message)
        return False
    except Conflict as error:
        if "consumer_uuids" in error.extra:
            raise  # another run holds claims for these instances: the caller's lease is over
        draft.chosen_anew += 1
        log.info("request_id=%s chooses anew: %s", request.request_id, error.message)
        return False
    return True


def _places(draft: DecisionDraft, claims: Sequence[Claim], trace: Trace) -> list[Place]:
    """Where the claims are, with what must be so there."""
    terms = _neighbours(draft)
    return [
        Place(
            consumer=str(claim.consumer_uuid),
            node=UUID(one.compute_node_uuid),
            host=one.host,
            zone=one.availability_zone,
            default_zone=draft.policy.options.default_availability_zone,
            rules=neighbour_rules(one.limits, terms),
        )
        for claim, one in zip(claims, (each.selected for each in trace.selections), strict=True)
    ]


def _join_group(draft: DecisionDraft, lost: Sequence[Mapping[str, Any]]) -> None:
    """Look next where the first member of the group has its claim: it may have no row yet."""
    homes = hosts_of_nodes({UUID(one["home"]) for one in lost if "home" in one})
    if homes and draft.request.group is not None:
        group = replace(draft.request.group, hosts=tuple(sorted(homes)))
        draft.request = replace(draft.request, group=group)


def _as_seen(draft: DecisionDraft, claim: Claim, each: InstanceSelection) -> Claim:
    """The claim, void if the chosen node's provider has changed since the look: others' claims count in the choice.

    So schedulers that run at the same time spread as one would. After CHOICES_ANEW it takes what there is, whoever came
    before: a choice that is not the best any more is better than none.
    """
    if draft.providers is None or draft.chosen_anew >= CHOICES_ANEW:
        return claim
    node = UUID(each.selected.compute_node_uuid)
    if node not in claim.resources or node not in draft.providers.row_of:
        return claim
    return replace(claim, seen={node: draft.providers.fact(draft.providers.row_of[node]).generation})


def _topology(draft: DecisionDraft) -> TopologyNeeds:
    return topology_needs(draft.request, pack=draft.policy.options.packing_host_numa_cells_allocation_strategy)


def _topology_requests(draft: DecisionDraft, trace: Trace) -> list[TopologyRequest]:
    """What the chosen hosts shall give of their cells and devices; nothing for most requests."""
    needs = _topology(draft)
    if not needs:
        return []
    return [
        TopologyRequest(
            UUID(each.instance_uuid),
            UUID(each.selected.compute_node_uuid),
            needs_within(needs, each.selected.limits),
        )
        for each in trace.selections
    ]


def _claims(draft: DecisionDraft, trace: Trace) -> list[Claim]:
    """What the chosen hosts shall give, in the order of the selections. A group's members count together."""
    request, count_limits = draft.request, _count_limits(draft)
    return [
        _claim(request, each, allocations_of(each.selected, trace.resources), count_limits) for each in trace.selections
    ]


def _claim(
    request: ScheduleRequest, each: InstanceSelection, allocations: Amounts, count_limits: Mapping[str, int]
) -> Claim:
    return Claim(
        consumer_uuid=UUID(each.instance_uuid),
        project_id=request.project_id,
        user_id=request.user_id,
        resources=allocations,
        limits=_limits_on(UUID(each.selected.compute_node_uuid), count_limits, allocations) if count_limits else (),
    )


def _no_valid_host(draft: DecisionDraft, trace: Trace) -> NoValidHost:
    decision = decision_record(draft=draft, trace=trace, duration_us=draft.elapsed_us())
    log.info("decision=%s request_id=%s %s", decision.id, draft.request.request_id, trace.verdict)
    _offer(decision.id, draft, trace)
    return NoValidHost(trace.verdict_redacted, decision_id=decision.id)


def _offer(decision_id: UUID, draft: DecisionDraft, trace: Trace) -> None:
    """Where no version was marked as shadow when this run began, nobody is asked."""
    if shadow_is_known():
        shadow_offer(decision_id=decision_id, draft=draft, trace=trace)


def _exhausted(draft: DecisionDraft, trace: Trace | None) -> ClaimsExhausted:
    rounds = scheduling_options().claim_rounds
    text = _("Hosts fitted, but others took the room first in each of {rounds} rounds", rounds=rounds)
    names = Counter(one["host"] for one in draft.lost_claims)
    hosts = ", ".join(f"{name} x{count}" for name, count in names.most_common(5))
    decision = decision_record_error(
        draft=draft,
        trace=trace,
        verdict=f"{text}; claims lost on {hosts}",
        verdict_redacted=text,
        duration_us=draft.elapsed_us(),
    )
    return ClaimsExhausted(text, decision_id=decision.id)


def _failed(draft: DecisionDraft, error: KilonovaError) -> NoValidHost:
    """A plug-in failed, a policy does not load, or the flavor contradicts itself."""
    plugin = error.extra.get("plugin")
    redacted = _("The scheduler's plug-in {plugin} failed", plugin=plugin) if plugin else error.message
    decision = decision_record_error(
        draft=draft,
        trace=None,
        verdict=error.message,
        verdict_redacted=redacted,
        duration_us=draft.elapsed_us(),
    )
    log.warning("decision=%s request_id=%s %s", decision.id, draft.request.request_id, error.message)
    return NoValidHost(redacted, decision_id=decision.id)
