"""Stored decisions are run again on the fleet that they saw."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from controlplane.identity.domain import Caller, Role
from controlplane.kernel.errors import NotFound
from controlplane.kernel.reasons import Refusal, RefusalReason
from placement.domain import Claim
from placement.services import allocations_claim, allocations_free
from scheduling.decisions.ledger.content import compressed, json_bytes
from scheduling.decisions.ledger.fleet_columns import FleetSeen
from scheduling.decisions.selectors.replay import ReplayState, fleet_candidates, replay_of
from scheduling.decisions.selectors.store import decision_fleet, decision_record_of
from scheduling.decisions.services.record import DecisionDraft, decision_record, now_us
from scheduling.decisions.services.replay import decision_replay
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.domain.policy import DEFAULT_POLICY
from scheduling.domain.request.schedule_request import Destination, GroupSnapshot
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import schedule
from scheduling.errors import NoValidHost
from scheduling.fleet.facts import FleetFacts, HostInstances
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import FleetSnapshot, SchedulingDecision
from scheduling.policies.services.policies import policy_create
from tests.services.scheduling.fleet.fleet_world import NO_FACTS, OTHER_PROJECT, PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db

ADMIN = Caller(uuid.uuid4(), "admin", PROJECT, "ops", frozenset({Role.ADMIN}))
STRANGER = Caller(uuid.uuid4(), "stranger", OTHER_PROJECT, "other", frozenset({Role.MEMBER}))


def decided(facts: FleetFacts = NO_FACTS, **changes: Any) -> SchedulingDecision:
    try:
        found = destinations_select(
            request=request(changes.pop("count", 1), **changes), inputs=scheduling_inputs(facts)
        )
    except NoValidHost as error:
        return SchedulingDecision.objects.get(pk=error.decision_id)
    return SchedulingDecision.objects.get(pk=found.decision_id)


def requests_of_all_kinds(rng: random.Random, hosts: list[str]) -> Iterator[dict[str, Any]]:
    """Plain ones and batches, full fleets, zones, groups, forced and ignored hosts, destinations, traits."""
    node = hosts[0].replace("cmp", "node")
    group = GroupSnapshot(uuid=str(uuid.uuid4()), policy="anti-affinity", hosts=(hosts[1],))
    kinds: list[dict[str, Any]] = [
        {},
        {"count": 3, "num_alternates": 1},
        {"memory_mib": 9000},
        {"vcpus": 15, "memory_mib": 4000},
        {"availability_zone": "az1"},
        {"availability_zone": "nowhere"},
        {"group": group},
        {"ignore_hosts": (hosts[2],)},
        {"force_hosts": (hosts[3],)},
        {"requested_destination": Destination(hosts[0], node)},
        {"required_traits": frozenset({"HW_CPU_X86_AVX2"})},
        {"required_traits": frozenset({"CUSTOM_NOBODY_HAS"})},
        {"count": 4, "min_count": 1, "memory_mib": 2048},
    ]
    while True:
        yield dict(rng.choice(kinds))


def recorded_on(seen: FleetSeen, changes: dict[str, Any], *, seed: int) -> SchedulingDecision:
    """A run on a fleet that some decision saw, stored without claims: policy and seed differ from run to run."""
    asked = request(changes.pop("count", 1), **changes)
    weighers = tuple(replace(each, multiplier=seed % 5 - 2.0) for each in DEFAULT_POLICY.weighers)
    policy = replace(DEFAULT_POLICY, weighers=weighers, host_subset_size=1 + seed % 3)
    draft = DecisionDraft(request=asked, policy=policy, seed=seed, subject=PROJECT, seen=replace(seen, scope=None))
    candidates = fleet_candidates(replace(seen, scope=None), asked)
    trace = schedule(ScheduleCall(seen.table, asked, policy, seed, candidates=candidates, stopwatch=now_us))
    return decision_record(draft=draft, trace=trace, duration_us=1)


@pytest.mark.long
def test_thousand_decisions_replay_bit_by_bit() -> None:
    hosts, rng = fleet(12), random.Random(4)
    zone = aggregate_create(name="rack", availability_zone="az1")
    aggregate_host_add(aggregate_id=zone.id, host="cmp-01")
    kinds = requests_of_all_kinds(rng, hosts)
    for number in range(125):
        decision = decided(**next(kinds))
        if number % 7:
            allocations_free(list(decision.instances.values_list("instance_uuid", flat=True)))
        if number % 25 == 0:
            service_disable(host=hosts[number // 25])
        seen = decision_fleet(decision=decision, record=decision_record_of(decision=decision))
        assert seen is not None
        for again in range(7):
            recorded_on(seen, next(kinds), seed=number * 7 + again)
    states = [replay_of(decision=decision).state for decision in SchedulingDecision.objects.all()]
    assert states == [ReplayState.SAME] * 1000


def test_replay_after_the_fleet_has_changed_is_the_same() -> None:
    fleet(3)
    decision = decided()
    service_disable(host=decision.instances.get().host)
    fleet(9)
    assert decision_replay(caller=ADMIN, decision_id=decision.id).same is True


def test_replay_of_a_random_choice_uses_the_seed() -> None:
    fleet(8)
    body = {"host_subset_size": 8, "shuffle_best_same_weighed_hosts": True}
    policy_create(body=body, activate=True)
    for _ in range(10):
        assert decision_replay(caller=ADMIN, decision_id=decided().id).same is True


def test_replay_uses_the_policy_of_then() -> None:
    fleet(3)
    decision = decided()
    policy_create(body={"filters": [], "weighers": {"RAMWeigher": -5.0}}, activate=True)
    assert decision_replay(caller=ADMIN, decision_id=decision.id).same is True


def test_replay_knows_the_instances_of_then() -> None:
    fleet(2)
    friend = str(uuid.uuid4())
    facts = FleetFacts({"cmp-01": HostInstances(instance_uuids=frozenset({friend}), num_instances=1)})
    decision = decided(facts, hints={"same_host": (friend,)})
    assert decision_replay(caller=ADMIN, decision_id=decision.id).same is True


def test_replay_leaves_out_the_hosts_whose_claims_were_lost() -> None:
    fleet(3)
    decision, asked = decided(), request()
    seen = decision_fleet(decision=decision, record=decision_record_of(decision=decision))
    assert seen is not None
    lost = {seen.table.uuids[0]: Refusal(RefusalReason.CLAIM_LOST, wanted=1, available=0, detail="VCPU")}
    candidates = fleet_candidates(seen, asked)
    trace = schedule(ScheduleCall(seen.table, asked, DEFAULT_POLICY, 5, candidates=candidates, claims_lost=lost))
    draft = DecisionDraft(request=asked, policy=DEFAULT_POLICY, seed=5, subject=PROJECT, seen=seen, excluded=lost)
    report = decision_replay(caller=ADMIN, decision_id=decision_record(draft=draft, trace=trace, duration_us=1).id)
    assert report.same is True
    assert trace.reason_counts() == {RefusalReason.CLAIM_LOST: 1}


def test_tampered_decision_is_different_and_says_where() -> None:
    fleet(3)
    decision = decided()
    other = decided()
    assert decision.seed != other.seed
    SchedulingDecision.objects.filter(id=decision.id).update(snapshot=other.snapshot)
    report = decision_replay(caller=ADMIN, decision_id=decision.id)
    assert report.same is False
    assert report.difference is not None
    assert report.difference.path in report.sentence


def test_pruned_snapshot_is_said() -> None:
    fleet(2)
    decision = decided()
    FleetSnapshot.objects.all().delete()
    report = decision_replay(caller=ADMIN, decision_id=decision.id)
    assert (report.state, report.same) == (ReplayState.PRUNED, None)
    assert "pruned" in report.sentence


def test_snapshot_that_was_pruned_under_a_running_process_is_written_again() -> None:
    fleet(2)
    decided()
    FleetSnapshot.objects.all().delete()
    assert decision_replay(caller=ADMIN, decision_id=decided().id).same is True


def test_snapshot_of_another_version_is_said() -> None:
    fleet(2)
    decision = decided()
    unknown = {"table/aggregates": {"values": [{"$": "no such type"}]}}
    for data in ({"format": 99}, {"format": 1, "columns": {}}, {"format": 1, "columns": unknown}):
        FleetSnapshot.objects.update(content=compressed(json_bytes(data)), base="")
        report = decision_replay(caller=ADMIN, decision_id=decision.id)
        assert (report.state, report.same) == (ReplayState.OTHER_VERSION, None)
        assert "written by another version" in report.sentence


def test_setting_keeps_no_fleet(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DECISION_SNAPSHOT_BYTES": 0}
    fleet(2)
    report = decision_replay(caller=ADMIN, decision_id=decided().id)
    assert (report.state, report.same) == (ReplayState.NO_SNAPSHOT, None)
    assert FleetSnapshot.objects.count() == 0


def test_decision_that_failed_early_has_no_replay() -> None:
    fleet(1)
    both = frozenset({"CUSTOM_A"})
    report = decision_replay(caller=ADMIN, decision_id=decided(required_traits=both, forbidden_traits=both).id)
    assert (report.state, report.same) == (ReplayState.NO_TRACE, None)


def test_policy_whose_filter_is_gone_fails_with_its_name() -> None:
    fleet(2)
    decision = decided()
    record = decision_record_of(decision=decision)
    draft = DecisionDraft(
        request=request(), policy=replace(DEFAULT_POLICY, filters=("NoSuchFilter",)), seed=1, subject=PROJECT
    )
    draft.seen = decision_fleet(decision=decision, record=record)
    assert record.trace is not None
    broken = decision_record(draft=draft, trace=record.trace, duration_us=1)
    report = decision_replay(caller=ADMIN, decision_id=broken.id)
    assert report.state == ReplayState.FAILED
    assert "NoSuchFilter" in report.sentence


def test_replay_claims_nothing() -> None:
    fleet(1)
    decision = decided(memory_mib=4096)
    held = list(decision.instances.values_list("instance_uuid", "compute_node_uuid"))
    allocations_free([held[0][0]])
    assert decision_replay(caller=ADMIN, decision_id=decision.id).same is True
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {held[0][1]: {"MEMORY_MB": 4096}})])


def test_stranger_does_not_know_the_decision() -> None:
    fleet(1)
    with pytest.raises(NotFound):
        decision_replay(caller=STRANGER, decision_id=decided().id)
