"""What a blob says of one host is what the whole trace says of it."""

from dataclasses import replace

import pytest

from bench.scheduler_engine import fleet, request
from scheduling.decisions.domain.host_record import RefusalRule, ranked_once, record_without_names, refusing_rule
from scheduling.decisions.ledger.record import DecisionRecord, record_to_blob
from scheduling.domain.policy import DEFAULT_POLICY
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.engine import InventoryRow, host_table_from_rows, schedule

HOSTS = 300
LARGE, SMALL = 1 << 20, 1024
BEST = request()
HALF = request(aggregate_instance_extra_specs__ssd="true")
NONE = request(resources__VCPU="300")
BATCH = request(10)


def decided(asked: ScheduleRequest) -> Trace:
    """On hosts of which no two have the same room left."""
    rows, aggregates = fleet(HOSTS)
    mixed = [replace(row, inventories=_room(at)) for at, row in enumerate(rows)]
    return schedule(ScheduleCall(host_table_from_rows(mixed, aggregates), asked, DEFAULT_POLICY, 1))


def _room(at: int) -> dict[str, InventoryRow]:
    return {
        "VCPU": InventoryRow(64, used=at * 7 % 200, allocation_ratio=4.0),
        "MEMORY_MB": InventoryRow(524288, used=at * 1013 % 500000),
        "DISK_GB": InventoryRow(4096, used=at * 31 % 4000),
    }


def rule_in(trace: Trace, row: int) -> RefusalRule | None:
    refusal = trace.refusal_of(row)
    return None if refusal is None else (refusal.stage, refusal.reason)


def blob_of(trace: Trace, bound: int) -> bytes:
    return record_to_blob(DecisionRecord(request={}, policy={}, trace=trace), bound=bound)[0]


@pytest.mark.parametrize("asked", [BEST, HALF, NONE, BATCH], ids=["best", "half", "none", "batch"])
@pytest.mark.parametrize("bound", [LARGE, SMALL], ids=["whole", "cut"])
def test_rule_of_each_host_is_that_of_the_whole_trace(asked: ScheduleRequest, bound: int) -> None:
    trace = decided(asked)
    blob = blob_of(trace, bound)

    assert [refusing_rule(blob, row) for row in range(HOSTS)] == [rule_in(trace, row) for row in range(HOSTS)]


def test_blob_without_trace_refused_nobody() -> None:
    blob = record_to_blob(DecisionRecord(request={}, policy={}), bound=LARGE)[0]

    assert refusing_rule(blob, 0) is None


def test_blob_of_another_format_is_refused_with_words() -> None:
    with pytest.raises(ValueError, match="not a blob of the ledger"):
        refusing_rule(b"{}", 0)


def test_record_without_names_ranks_as_the_whole_trace_does() -> None:
    trace = decided(BATCH)
    bare = record_without_names(blob_of(trace, LARGE), HOSTS).trace

    assert bare is not None
    assert [ranked_once(bare, row) for row in range(HOSTS)] == [ranked_once(trace, row) for row in range(HOSTS)]


def test_first_of_a_ranking_is_behind_nobody() -> None:
    trace = decided(BEST)
    ranking = trace.rounds[0].ranking
    assert ranking is not None

    found = ranked_once(trace, int(ranking.ranked_rows()[0]))

    assert found is not None
    assert (found.rank, found.ranked) == (1, len(ranking.rows))
    assert {points for _, points in found.behind} == {0.0}


def test_points_behind_add_up_to_the_difference_of_the_scores() -> None:
    trace = decided(BEST)
    ranking = trace.rounds[0].ranking
    assert ranking is not None

    found = ranked_once(trace, int(ranking.rows[ranking.order[-1]]))

    assert found is not None
    gap = ranking.scores[ranking.order[0]] - ranking.scores[ranking.order[-1]]
    assert sum(points for _, points in found.behind) == pytest.approx(gap)


def test_place_beyond_the_best_that_were_kept_is_unknown() -> None:
    trace = decided(BEST)
    record = record_without_names(blob_of(trace, SMALL), HOSTS)
    assert record.trace is not None
    ranking = record.trace.rounds[0].ranking
    assert ranking is not None
    beyond = next(row for row in range(HOSTS) if row not in set(ranking.rows.tolist()))

    found = ranked_once(record.trace, beyond, record.ranked)

    assert found is not None
    assert (found.rank, found.ranked, found.behind) == (None, HOSTS, ())


def test_host_that_was_refused_has_no_place() -> None:
    assert ranked_once(decided(NONE), 0) is None
