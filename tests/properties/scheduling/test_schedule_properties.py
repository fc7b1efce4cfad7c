"""What holds for every fleet, request, policy and seed."""

import copy
import json
import random
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.columns import Interned, InventoryColumns
from scheduling.domain.hosts.host_details import HostDetails
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.policy import DEFAULT_POLICY, DEFAULT_WEIGHERS, Policy, PolicyOptions
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.resources import resource_request
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import (
    AggregateRow,
    FlavorSnapshot,
    HostRow,
    HostTable,
    InventoryRow,
    ScheduleRequest,
    host_table_from_rows,
    schedule,
    trace_from_dict,
    trace_to_dict,
    why_not,
)
from scheduling.filters.registry import BUILT_IN
from tests.properties.scheduling.fleets import AGGREGATES, host_rows, requests
from tests.properties.scheduling.nova_rules import FILTERS, WEIGHERS, scores
from tests.units.scheduling.worlds import every

ALL_FILTERS = tuple(sorted(BUILT_IN))
POLICIES = st.builds(
    Policy,
    filters=st.lists(st.sampled_from(ALL_FILTERS), unique=True).map(tuple),
    host_subset_size=st.integers(1, 3),
    shuffle_best_same_weighed_hosts=st.booleans(),
)
SEEDS = st.integers(0, 2**31)
everything = given(host_rows(), AGGREGATES, requests(), POLICIES, SEEDS)


def frozen_view(table: HostTable) -> dict[str, object]:
    """All that a table says, as values that can be compared."""

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, Interned | InventoryColumns):
            return [plain(getattr(value, each.name)) for each in fields(value)]
        if isinstance(value, dict):
            return {name: plain(part) for name, part in value.items()}
        return value if isinstance(value, HostDetails) else copy.deepcopy(value)

    return {each.name: plain(getattr(table, each.name)) for each in fields(table)}


@everything
def test_no_selection_exceeds_the_room_of_its_host(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    trace = schedule(ScheduleCall(host_table_from_rows(rows, aggregates), asked, policy, seed))
    by_uuid = {row.uuid: row for row in rows}
    for uuid, count in Counter(each.selected.compute_node_uuid for each in trace.selections).items():
        for name, amount in trace.resources.items():
            one = by_uuid[uuid].inventories[name]
            assert one.used + count * amount <= (one.total - one.reserved) * one.allocation_ratio


@everything
def test_order_of_rows_makes_no_difference(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    shuffled_rows, shuffled_aggregates = rows[:], aggregates[:]
    random.Random(seed).shuffle(shuffled_rows)
    random.Random(seed).shuffle(shuffled_aggregates)
    one = schedule(ScheduleCall(host_table_from_rows(rows, aggregates), asked, policy, seed))
    two = schedule(ScheduleCall(host_table_from_rows(shuffled_rows, shuffled_aggregates), asked, policy, seed))
    assert trace_to_dict(one) == trace_to_dict(two)


@everything
def test_snapshot_is_left_as_it_was(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    table = host_table_from_rows(rows, aggregates)
    before = frozen_view(table)
    schedule(ScheduleCall(table, asked, policy, seed))
    assert frozen_view(table) == before


@everything
def test_every_host_has_one_refusal_or_a_rank(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    trace = schedule(ScheduleCall(host_table_from_rows(rows, aggregates), asked, policy, seed))
    refused = [row for row, _ in trace.refusals()]
    ranking = trace.rounds[-1].ranking
    ranked = [] if ranking is None else ranking.rows.tolist()
    assert sorted(refused + ranked) == list(range(len(rows)))


@everything
def test_trace_survives_json_and_answers_for_every_host(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    data = trace_to_dict(schedule(ScheduleCall(host_table_from_rows(rows, aggregates), asked, policy, seed)))
    again = trace_from_dict(json.loads(json.dumps(data)))
    assert trace_to_dict(again) == data
    assert all(why_not(again, row.host).sentence for row in rows)


@everything
def test_batch_is_whole_or_nothing_and_keeps_group_rules(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    trace = schedule(ScheduleCall(host_table_from_rows(rows, aggregates), asked, policy, seed))
    assert not trace.selections or len(trace.selections) >= asked.min_instances
    hosts = Counter(each.selected.host for each in trace.selections)
    if asked.group and asked.group.policy == "anti-affinity" and "ServerGroupAntiAffinityFilter" in policy.filters:
        assert all(count <= asked.group.max_server_per_host for count in hosts.values())
    if asked.group and asked.group.policy == "affinity" and "ServerGroupAffinityFilter" in policy.filters:
        assert len(set(hosts) - set(asked.group.hosts)) <= (0 if asked.group.hosts else 1)


@everything
def test_alternates_are_in_the_cell_and_nobodys_host(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    trace = schedule(ScheduleCall(host_table_from_rows(rows, aggregates), asked, policy, seed))
    taken = {each.selected.compute_node_uuid for each in trace.selections}
    for each in trace.selections:
        uuids = [alternate.compute_node_uuid for alternate in each.alternates]
        assert len(uuids) == len(set(uuids)) <= asked.num_alternates
        assert not taken & set(uuids)
        assert {alternate.cell_uuid for alternate in each.alternates} <= {each.selected.cell_uuid}


@pytest.mark.parametrize("name", ALL_FILTERS)
@given(rows=host_rows(), aggregates=AGGREGATES, asked=requests())
def test_filter_over_columns_equals_nova_s_rule_host_by_host(
    name: str, rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest
) -> None:
    table = host_table_from_rows(rows, aggregates)
    spec = RequestSpecView(
        asked, resource_request(asked), PolicyOptions(max_instances_per_host=3), {}, group=asked.group
    )
    groups = BUILT_IN[name]().refusals(every(table), spec)
    refused = [row for group in groups for row in group.rows.tolist()]
    expected = [row for row in range(len(table)) if not FILTERS[name](HostState(table, row), spec)]
    assert sorted(refused) == expected


@given(rows=host_rows(), aggregates=AGGREGATES, asked=requests())
def test_scores_over_columns_equal_nova_s_rule_host_by_host(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest
) -> None:
    table = host_table_from_rows(rows, aggregates)
    trace = schedule(ScheduleCall(table, asked, Policy(filters=()), 1))
    ranking = trace.rounds[0].ranking
    if ranking is None or len(ranking.rows) < 2:
        return
    spec = RequestSpecView(asked, resource_request(asked), PolicyOptions(), {}, group=asked.group)
    states = [HostState(table, row) for row in ranking.rows.tolist()]
    assert ranking.scores.tolist() == pytest.approx(scores(states, spec, [each.name for each in DEFAULT_WEIGHERS]))


def test_reference_covers_every_built_in_rule() -> None:
    assert set(FILTERS) == set(BUILT_IN)
    assert set(WEIGHERS) == {each.name for each in DEFAULT_POLICY.weighers}


def test_fifty_equal_hosts_get_one_each_of_a_batch_of_fifty() -> None:
    room = {"VCPU": InventoryRow(64), "MEMORY_MB": InventoryRow(65536)}
    rows = [HostRow(f"h{at}", f"h{at}", f"u{at}", inventories=room) for at in range(50)]
    small = FlavorSnapshot("1", "m1", 1, 512)
    asked = ScheduleRequest("r", "p", "u", tuple(f"i{at}" for at in range(50)), small)
    trace = schedule(ScheduleCall(host_table_from_rows(rows), asked, DEFAULT_POLICY, 1))
    assert len({each.selected.host for each in trace.selections}) == 50
