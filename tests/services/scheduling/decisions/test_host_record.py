"""The record of a host: counted by the database, explained from the blobs, equal to what single decisions say."""

import uuid
import zlib
from dataclasses import replace

import pytest

from bench.scheduler_engine import request as bench_request
from scheduling.decisions.selectors.decisions import decision_trace
from scheduling.decisions.selectors.host_record import HostOutcome, HostRecord, host_record
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.domain.trace.explanation import HostResult, why_not
from scheduling.errors import NoValidHost
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import SchedulingDecision
from tests.services.scheduling.decisions.test_decision_ledger import fleets, stored
from tests.services.scheduling.fleet.fleet_world import fleet, request

pytestmark = pytest.mark.django_db
OUTCOME_OF = {
    HostResult.SELECTED: HostOutcome.CHOSEN,
    HostResult.RANKED: HostOutcome.OUTRANKED,
    HostResult.ALTERNATE: HostOutcome.OUTRANKED,
    HostResult.REFUSED: HostOutcome.REFUSED,
}


def counts(record: HostRecord) -> dict[HostOutcome, int]:
    return {one.host_outcome: one.decisions for one in record.outcomes}


def refused(**wanted: int) -> None:
    with pytest.raises(NoValidHost):
        destinations_select(request=request(**wanted), inputs=scheduling_inputs())


def test_no_decisions_give_an_empty_record() -> None:
    fleet(1)

    record = host_record(host="cmp-00")

    assert (record.considered, record.win_rate, record.rules, record.outranked) == (0, 0.0, (), None)
    assert record.sentence == "None of the 0 decisions looked at cmp-00."


def test_counts_are_those_of_single_decisions() -> None:
    hosts = fleet(4)
    service_disable(host="cmp-01", reason="x")
    for _ in range(6):
        destinations_select(request=request(2), inputs=scheduling_inputs())
    refused(memory_mib=9000)
    for name in hosts:
        expected = dict.fromkeys(HostOutcome, 0)
        for decision in SchedulingDecision.objects.all():
            trace = decision_trace(decision=decision)
            assert trace is not None
            expected[OUTCOME_OF[why_not(trace, name).result]] += 1
        assert counts(host_record(host=name)) == expected


def test_reasons_are_counted_with_stage_and_newest_example() -> None:
    fleet(2)
    refused(memory_mib=9000)
    service_disable(host="cmp-00", reason="x")
    refused(memory_mib=9000)
    refused(memory_mib=9000)

    record = host_record(host="cmp-00")

    newest = SchedulingDecision.objects.order_by("-created_at").first()
    assert newest is not None
    assert [(one.stage, one.reason.value, one.decisions) for one in record.rules] == [
        ("request_filters", "disabled", 2),
        ("placement", "ram_short", 1),
    ]
    assert record.rules[0].example == newest.pk


def test_a_batch_that_fails_as_a_whole_leaves_hosts_that_passed_undecided() -> None:
    fleet(2)
    refused(count=20, memory_mib=2048)

    found = counts(host_record(host="cmp-00"))

    assert found[HostOutcome.REFUSED] + found[HostOutcome.UNDECIDED] == 1
    assert found[HostOutcome.CHOSEN] == found[HostOutcome.OUTRANKED] == 0


def test_a_host_that_won_once_of_a_batch_is_chosen_though_it_was_full_later() -> None:
    fleet(2)
    destinations_select(request=request(2, memory_mib=4096), inputs=scheduling_inputs())

    assert counts(host_record(host="cmp-00"))[HostOutcome.CHOSEN] == 1


def test_names_differ_by_case() -> None:
    fleet(1)
    destinations_select(request=request(), inputs=scheduling_inputs())

    assert host_record(host="CMP-00").of(HostOutcome.CHOSEN).decisions == 0


def test_ranks_and_costs_are_those_of_the_explanation() -> None:
    decision = stored(fleets("like"), bench_request())
    trace = decision_trace(decision=decision)
    assert trace is not None
    name = "cmp-00321"
    reported = why_not(trace, name)

    lost = host_record(host=name).outranked

    assert lost is not None
    assert (lost.usual_rank, lost.best_rank, lost.usual_ranked) == (reported.rank, reported.rank, reported.ranked)
    assert {one.weigher: one.points for one in lost.weighers} == pytest.approx(dict(reported.behind_by))


def test_a_place_beyond_what_was_kept_is_unknown_not_wrong() -> None:
    table = fleets("mixed")
    decision = stored(table, bench_request(), stores_fleet=False)
    trace = decision_trace(decision=decision)
    assert trace is not None
    ranking = trace.rounds[0].ranking
    assert ranking is not None
    kept = set(ranking.rows.tolist())
    beyond = next(row for row in range(len(table)) if row not in kept)

    lost = host_record(host=table.hosts[beyond]).outranked

    assert lost is not None
    assert (lost.read, lost.usual_rank, lost.weighers) == (1, None, ())
    assert lost.usual_ranked == len(table)


def test_refusals_are_read_from_marks_ranges_and_cut_traces_alike() -> None:
    table = fleets("mixed")
    asked = bench_request(aggregate_instance_extra_specs__ssd="true")
    for keeps in (True, False):
        stored(table, replace(asked, request_id=str(uuid.uuid4())), stores_fleet=keeps)
    trace = decision_trace(decision=SchedulingDecision.objects.latest("created_at"))
    assert trace is not None
    row, refusal = next(iter(trace.refusals()))

    record = host_record(host=trace.hosts[row])

    assert [(one.stage, one.reason, one.decisions) for one in record.rules] == [(refusal.stage, refusal.reason, 2)]


def test_what_another_version_wrote_is_counted_but_not_read() -> None:
    fleet(1)
    refused(memory_mib=9000)
    refused(memory_mib=9000)
    newest = SchedulingDecision.objects.latest("created_at")
    SchedulingDecision.objects.filter(pk=newest.pk).update(trace=zlib.compress(b'{"format": 99}'))

    record = host_record(host="cmp-00")

    assert (record.refused.decisions, record.refusals_read) == (2, 1)


def test_only_the_newest_decisions_are_looked_through_and_the_record_says_so() -> None:
    fleet(1)
    for _ in range(4):
        destinations_select(request=request(memory_mib=512), inputs=scheduling_inputs())
    whole = host_record(host="cmp-00")
    bounded = host_record(host="cmp-00", newest=3)

    assert (whole.decisions_read, whole.is_bounded) == (4, False)
    assert (bounded.decisions_read, bounded.considered, bounded.is_bounded) == (3, 3, True)
