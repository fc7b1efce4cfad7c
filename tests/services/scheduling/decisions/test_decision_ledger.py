"""What a decision keeps, and in how much room."""

import random
import uuid
import zlib
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from bench.scheduler_engine import fleet as bench_fleet
from bench.scheduler_engine import request as bench_request
from controlplane.infra.answer_budget import answer_budget
from scheduling.decisions.ledger.content import OtherVersion
from scheduling.decisions.ledger.fleet_columns import FleetSeen
from scheduling.decisions.selectors.decisions import decision_content, decision_trace
from scheduling.decisions.selectors.report import decision_report
from scheduling.decisions.services.record import DecisionDraft, decision_record, now_us
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.domain.policy import DEFAULT_POLICY
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.codec import trace_to_dict
from scheduling.engine import AggregateRow, HostRow, HostTable, InventoryRow, host_table_from_rows, schedule
from scheduling.errors import NoValidHost
from scheduling.models import DecisionReason, HostNames, SchedulingDecision
from tests.services.scheduling.fleet.fleet_world import PROJECT, fleet, request

pytestmark = pytest.mark.django_db

BOUND = 8192
HOSTS = 5000


@cache
def fleets(kind: str) -> HostTable:
    """5,000 hosts: like ones, in many aggregates with multipliers, or such that no two have the same room left."""
    rows, aggregates = bench_fleet(HOSTS)
    rng = random.Random(2)
    if kind == "many aggregates":
        aggregates += [_aggregate(at, rows, rng) for at in range(100)]
    if kind == "mixed":
        rows = [replace(row, inventories=_room(rng)) for row in rows]
    return host_table_from_rows(rows, aggregates)


def _aggregate(at: int, rows: list[HostRow], rng: random.Random) -> AggregateRow:
    hosts = frozenset(row.host for row in rng.sample(rows, 500))
    numbers = {"cpu_weight_multiplier": str(1 + at % 7 / 2), "ram_weight_multiplier": str(1 + at % 3)}
    return AggregateRow(f"many-{at}", f"many-{at}", hosts, numbers)


def _room(rng: random.Random) -> dict[str, InventoryRow]:
    return {
        "VCPU": InventoryRow(64, used=rng.randint(0, 200), allocation_ratio=4.0),
        "MEMORY_MB": InventoryRow(524288, used=rng.randint(0, 500000)),
        "DISK_GB": InventoryRow(4096, used=rng.randint(0, 4000)),
    }


def stored(table: HostTable, asked: ScheduleRequest, *, stores_fleet: bool = True) -> SchedulingDecision:
    asked = replace(
        asked, project_id=str(PROJECT), instance_uuids=tuple(str(uuid.uuid4()) for _ in asked.instance_uuids)
    )
    trace = schedule(ScheduleCall(table, asked, DEFAULT_POLICY, 1, stopwatch=now_us))
    draft = DecisionDraft(request=asked, policy=DEFAULT_POLICY, seed=1, subject=PROJECT)
    draft.seen = FleetSeen(table) if stores_fleet else None
    return decision_record(draft=draft, trace=trace, duration_us=1)


@pytest.mark.parametrize("kind", ["like", "many aggregates", "mixed"])
@pytest.mark.parametrize(
    "asked",
    [
        bench_request(),
        bench_request(aggregate_instance_extra_specs__ssd="true"),
        bench_request(resources__VCPU="300"),
        bench_request(10),
    ],
    ids=["one", "half", "none", "ten"],
)
def test_decision_about_5000_hosts_takes_at_most_8_kb(kind: str, asked: ScheduleRequest) -> None:
    decision = stored(fleets(kind), asked)
    assert decision.stored_bytes == len(decision.trace) <= BOUND


def test_cut_decision_is_whole_again_by_its_fleet() -> None:
    table, asked = fleets("mixed"), bench_request()
    decision = stored(table, asked)
    trace = decision_trace(decision=decision)
    fresh = schedule(ScheduleCall(table, asked, DEFAULT_POLICY, 1))
    assert trace is not None
    assert trace.rounds[0].ranking is not None
    assert fresh.rounds[0].ranking is not None
    assert (trace.rounds[0].ranking.scores == fresh.rounds[0].ranking.scores).all()
    assert trace_to_dict(trace)["rounds"][0]["ranking"] == trace_to_dict(fresh)["rounds"][0]["ranking"]


def test_cut_decision_without_its_fleet_keeps_the_best_and_says_how_many_there_were() -> None:
    table, asked = fleets("mixed"), bench_request()
    content = decision_content(decision=stored(table, asked, stores_fleet=False))
    fresh = schedule(ScheduleCall(table, asked, DEFAULT_POLICY, 1)).rounds[0].ranking
    assert content.trace is not None
    rows_stored = content.trace.rounds[0].ranking
    assert rows_stored is not None
    assert fresh is not None
    assert content.rows_stored == len(rows_stored.rows)
    assert content.ranked == (len(fresh.rows),)
    assert rows_stored.ranked_rows().tolist() == fresh.ranked_rows()[: len(rows_stored.rows)].tolist()
    best = rows_stored.order[0]
    for weigher, whole in zip(rows_stored.weighers, fresh.weighers, strict=True):
        assert weigher.weighted()[best] == whole.weighted()[fresh.order[0]]


def test_report_of_a_cut_decision_counts_all_ranked_hosts() -> None:
    table, asked = fleets("mixed"), bench_request()
    report = decision_report(decision=stored(table, asked, stores_fleet=False), redacted=False)
    ranking = schedule(ScheduleCall(table, asked, DEFAULT_POLICY, 1)).rounds[0].ranking
    assert ranking is not None
    assert report["scores"]["ranked"] == len(ranking.rows)
    assert report["rows_stored"] < report["scores"]["ranked"]


def test_cut_decision_still_tells_who_was_refused_by_what() -> None:
    decision = stored(fleets("mixed"), bench_request(resources__VCPU="100"), stores_fleet=False)
    trace = decision_trace(decision=decision)
    fresh = schedule(ScheduleCall(fleets("mixed"), bench_request(resources__VCPU="100"), DEFAULT_POLICY, 1))
    assert trace is not None
    assert trace.reason_counts() == fresh.reason_counts()
    assert {row for row, _ in trace.refusals()} == {row for row, _ in fresh.refusals()}


def test_names_are_kept_once_for_all_decisions_about_the_same_hosts() -> None:
    fleet(3)
    for _ in range(3):
        destinations_select(request=request(), inputs=scheduling_inputs())
    assert HostNames.objects.count() == 1


def test_reasons_are_counted_by_stage() -> None:
    fleet(3)
    with pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(memory_mib=9000, ignore_hosts=("cmp-02",)), inputs=scheduling_inputs())
    rows = DecisionReason.objects.filter(decision_id=caught.value.decision_id)
    assert list(rows.values_list("stage", "reason", "hosts")) == [("placement", "ram_short", 3)]


def test_policy_stands_whole_in_the_decision() -> None:
    fleet(1)
    found = destinations_select(request=request(), inputs=scheduling_inputs())
    content = decision_content(decision=SchedulingDecision.objects.get(id=found.decision_id))
    assert content.policy["filters"][0] == "ComputeFilter"


def test_times_of_stages_come_back() -> None:
    fleet(2)
    found = destinations_select(request=request(), inputs=scheduling_inputs())
    decision = SchedulingDecision.objects.get(id=found.decision_id)
    trace = decision_trace(decision=decision)
    assert trace is not None
    assert {**trace.timings_us, **decision.timings_us} == decision.timings_us


def test_decision_of_another_version_is_said_to_be_one() -> None:
    fleet(1)
    found = destinations_select(request=request(), inputs=scheduling_inputs())
    decision = SchedulingDecision.objects.get(id=found.decision_id)
    for blob in (zlib.compress(b'{"format": 99}'), b"not zlib"):
        decision.trace = blob
        with pytest.raises(OtherVersion):
            decision_content(decision=decision)


def test_replay_of_a_cut_decision_is_made_once_and_not_above_the_budget(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "ANSWER_SECONDS_A_MINUTE": 20.0}
    decision = stored(fleets("mixed"), bench_request())
    with answer_budget.spend(f"replay:{decision.project_id}", seconds_a_minute=20.0):
        assert decision_content(decision=decision).rows_stored is not None
    assert decision_content(decision=decision).rows_stored is None
    with answer_budget.spend(f"replay:{decision.project_id}", seconds_a_minute=20.0):
        assert decision_content(decision=decision).rows_stored is None
