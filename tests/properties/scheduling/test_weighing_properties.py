"""Weighing over columns is Nova's weighing host by host; what is chosen follows from the scores and the seed alone."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.policy import Policy, PolicyOptions, WeigherSetting
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.weighing import Ranking, best_first, normalise
from scheduling.engine import (
    AggregateRow,
    Destination,
    FlavorSnapshot,
    HostRow,
    ScheduleRequest,
    host_table_from_rows,
    schedule,
)
from scheduling.weighers.registry import BUILT_IN
from tests.properties.scheduling.fleets import NAMES, host_rows, requests
from tests.properties.scheduling.weighing_rules import RULES, scaled, scores

PAIRS = [("os_type", "linux"), ("os_type", "windows"), ("hw_disk_bus", "virtio")]
METRICS = st.dictionaries(st.sampled_from(["cpu.percent", "load"]), st.integers(-50, 50))
POOLS = st.lists(
    st.builds(
        lambda count: {"vendor_id": "v", "product_id": "p", "dev_type": "type-VF", "numa_node": None, "count": count},
        st.sampled_from([0, 1, 7, 98, 99, 100, 500]),
    ),
    max_size=2,
)
WEIGHTS = st.sampled_from([0.0, 1.0, -2.0, 0.5])
MULTIPLIERS = st.sampled_from(["2", "-1", "0", "0.5", "big"])
VALUES = st.lists(st.integers(-1000, 1000) | st.floats(-1e6, 1e6), min_size=1, max_size=12)
BOUNDS = st.none() | st.integers(-500, 500)


@st.composite
def fleets(draw: st.DrawFn) -> list[HostRow]:
    """Hosts that pass without filters: with room, enabled, and with what only weighers look at."""
    return [
        replace(
            row,
            enabled=True,
            inventories={name: replace(one, max_unit=1000) for name, one in row.inventories.items()},
            metrics=draw(METRICS),
            pci_pools=draw(POOLS),
            image_properties=draw(st.dictionaries(st.sampled_from(PAIRS), st.integers(1, 5))),
        )
        for row in draw(host_rows())
    ]


AGGREGATES = st.lists(
    st.tuples(
        st.frozensets(st.sampled_from(NAMES)),
        st.dictionaries(st.sampled_from([rule[4] for rule in RULES.values()]), MULTIPLIERS, max_size=5),
    ),
    max_size=4,
).map(lambda each: [AggregateRow(f"agg{at}", f"agg{at}", hosts, data) for at, (hosts, data) in enumerate(each)])

POLICIES = st.builds(
    Policy,
    filters=st.just(()),
    weighers=st.permutations(sorted(RULES)).flatmap(
        lambda names: st.tuples(*(st.builds(WeigherSetting, st.just(name), st.none() | WEIGHTS) for name in names))
    ),
    options=st.builds(
        PolicyOptions,
        metrics_weight_setting=st.dictionaries(st.sampled_from(["cpu.percent", "load"]), WEIGHTS),
        metrics_required=st.just(False),
        image_props_weight_setting=st.dictionaries(st.sampled_from(["os_type", "hw_disk_bus"]), WEIGHTS),
    ),
)


@st.composite
def asks(draw: st.DrawFn) -> ScheduleRequest:
    """One small instance, so that most hosts pass."""
    asked = draw(requests())
    cell = draw(
        st.none() | st.builds(Destination, cell=st.sampled_from(["c1", "c3"]), allow_cross_cell_move=st.booleans())
    )
    properties = dict(draw(st.lists(st.sampled_from(PAIRS))))
    return replace(
        asked,
        instance_uuids=("new0",),
        flavor=FlavorSnapshot("1", "m1", 1, 1),
        image=replace(asked.image, properties=properties),
        availability_zone=None,
        requested_destination=cell,
        min_count=None,
    )


def ranking_of(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int = 1
) -> tuple[Ranking | None, list[HostRow]]:
    """The ranking, and the rows it ranks in its own order."""
    table = host_table_from_rows(rows, aggregates)
    ranking = schedule(ScheduleCall(table, asked, policy, seed)).rounds[0].ranking
    by_uuid = {row.uuid: row for row in rows}
    return ranking, [] if ranking is None else [by_uuid[table.uuids[at]] for at in ranking.rows.tolist()]


@given(fleets(), AGGREGATES, asks(), POLICIES)
def test_scores_and_order_are_those_of_a_plain_reading_host_by_host(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy
) -> None:
    ranking, ranked = ranking_of(rows, aggregates, asked, policy)
    if ranking is None or len(ranked) < 2:
        return
    assert ranking.scores.tolist() == pytest.approx(scores(ranked, aggregates, asked, policy), rel=1e-9, abs=1e-6)
    own = ranking.scores.tolist()
    assert ranking.order.tolist() == sorted(range(len(own)), key=lambda at: -own[at])


@pytest.mark.parametrize("name", sorted(RULES))
@given(
    rows=fleets(), aggregates=AGGREGATES, asked=asks(), policy=POLICIES, multiplier=st.sampled_from([None, 1.0, -2.0])
)
def test_each_weigher_alone_is_a_plain_reading_host_by_host(
    name: str,
    rows: list[HostRow],
    aggregates: list[AggregateRow],
    asked: ScheduleRequest,
    policy: Policy,
    multiplier: float | None,
) -> None:
    alone = replace(policy, weighers=(WeigherSetting(name, multiplier),))
    ranking, ranked = ranking_of(rows, aggregates, asked, alone)
    if ranking is None or len(ranked) < 2:
        return
    expected = scores(ranked, aggregates, asked, alone)
    assert ranking.scores.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(fleets(), AGGREGATES, asks(), POLICIES)
def test_score_is_the_sum_of_what_the_trace_shows_of_each_weigher(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy
) -> None:
    ranking, ranked = ranking_of(rows, aggregates, asked, policy)
    if ranking is None or len(ranked) < 2:
        return
    total = sum(column.multiplier * column.normalised() for column in ranking.weighers)
    assert np.asarray(total).tolist() == pytest.approx(ranking.scores.tolist(), rel=1e-9, abs=1e-6)
    assert all(0 <= value <= 1 for column in ranking.weighers for value in column.normalised().tolist())


@given(VALUES, BOUNDS, BOUNDS)
def test_scaling_over_columns_equals_a_plain_reading(
    values: list[float], floor: float | None, ceiling: float | None
) -> None:
    if floor is not None and ceiling is not None and floor > ceiling:
        floor, ceiling = ceiling, floor
    got = normalise(np.array(values, dtype=np.float64), floor=floor, ceiling=ceiling).tolist()
    assert got == pytest.approx(scaled(values, floor, ceiling))


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1))
def test_equals_keep_their_order(values: list[float]) -> None:
    assert best_first(np.array(values)).tolist() == sorted(range(len(values)), key=lambda at: -values[at])


@given(fleets(), AGGREGATES, asks(), POLICIES, st.integers(1, 12), st.integers(0, 2**31))
def test_subset_moves_one_of_the_first_to_the_front_and_leaves_the_rest(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, size: int, seed: int
) -> None:
    plain, _ = ranking_of(rows, aggregates, asked, policy)
    chosen, _ = ranking_of(rows, aggregates, asked, replace(policy, host_subset_size=size), seed)
    if plain is None or chosen is None:
        return
    first, before = int(chosen.order[0]), plain.order.tolist()
    assert first in before[:size]
    assert chosen.order.tolist()[1:] == [at for at in before if at != first]


@given(fleets(), AGGREGATES, asks(), POLICIES, st.integers(0, 2**31))
def test_shuffle_touches_those_tied_at_the_top_alone_and_repeats_with_its_seed(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, policy: Policy, seed: int
) -> None:
    plain, _ = ranking_of(rows, aggregates, asked, policy)
    shuffling = replace(policy, shuffle_best_same_weighed_hosts=True)
    shuffled, _ = ranking_of(rows, aggregates, asked, shuffling, seed)
    again, _ = ranking_of(rows, aggregates, asked, shuffling, seed)
    if plain is None or shuffled is None or again is None:
        return
    tied = int((plain.scores == plain.scores.max()).sum())
    assert sorted(shuffled.order[:tied].tolist()) == sorted(plain.order[:tied].tolist())
    assert shuffled.order[tied:].tolist() == plain.order[tied:].tolist()
    assert shuffled.order.tolist() == again.order.tolist()


def test_shuffle_gives_every_tied_host_its_turn() -> None:
    room = host_table_from_rows([HostRow(f"h{at}", f"h{at}", f"u{at}") for at in range(4)])
    asked = ScheduleRequest("r", "p", "u", ("i",), FlavorSnapshot("1", "m1", 0, 0))
    policy = Policy(filters=(), shuffle_best_same_weighed_hosts=True)
    seeds = random.Random(7).sample(range(10**6), 60)
    winners = {schedule(ScheduleCall(room, asked, policy, seed)).selections[0].selected.host for seed in seeds}
    assert winners == {"h0", "h1", "h2", "h3"}


def test_plain_reading_covers_every_weigher_and_its_aggregate_key() -> None:
    assert {name: rule[4] for name, rule in RULES.items()} == {n: each.multiplier_key for n, each in BUILT_IN.items()}
