"""A ranker that puts what a placement changed into its last answer ranks as one that asks every weigher anew."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.policy import Policy, WeigherSetting
from scheduling.domain.trace.weighing import Ranking, WeigherColumn
from scheduling.engine import AggregateRow, HostRow, host_table_from_rows
from scheduling.engine.rank import Ranker
from scheduling.weighers.registry import BUILT_IN, weigher_get
from tests.properties.scheduling.fleets import host_rows
from tests.units.scheduling.worlds import request, spec_of

MULTIPLIERS = st.sampled_from([None, 0.0, 1.0, -1.5])
POLICIES = st.builds(
    lambda weighers: Policy(filters=(), weighers=tuple(WeigherSetting(*each) for each in weighers.items())),
    st.dictionaries(st.sampled_from(sorted(BUILT_IN)), MULTIPLIERS, min_size=1),
)
AGGREGATES = st.lists(
    st.builds(
        lambda keys, hosts: AggregateRow("a", "a", hosts, keys),
        st.dictionaries(st.sampled_from(["ram_weight_multiplier", "cpu_weight_multiplier"]), st.just("2.5")),
        st.frozensets(st.sampled_from(["h0", "h1", "h2", "h3"])),
    ),
    max_size=2,
)


def columns(ranking: Ranking) -> list[object]:
    """All that it says, to the bit."""
    return [
        ranking.rows.tolist(),
        ranking.scores.tobytes(),
        [(each.name, each.raw.tobytes(), np.asarray(each.multiplier).tolist()) for each in ranking.weighers],
    ]


@given(host_rows(), AGGREGATES, POLICIES, st.lists(st.integers(0, 50), max_size=6), st.data())
def test_rounds_of_one_ranker_are_those_of_fresh_ones(
    rows: list[HostRow], aggregates: list[AggregateRow], policy: Policy, places: list[int], data: st.DataObject
) -> None:
    table, asked = host_table_from_rows(rows, aggregates), request()
    if len(table) < 2:
        return
    left = np.arange(len(table))
    settings = [(weigher_get(each.name), each.multiplier) for each in policy.weighers]
    kept = Ranker(settings, policy, random.Random(1))
    spec = spec_of(asked)
    found: list[tuple[Ranking, list[object]]] = []
    for number, place in enumerate([0, *places]):
        if number:
            row = place % len(table)
            table = table.consume(row, flavor=asked.flavor, amounts={}, instance_uuid=f"u{number}")
            if len(left) > 2 and data.draw(st.booleans()):
                left = left[left != row]
        fresh = Ranker(settings, policy, random.Random(1)).rank(Hosts(table, left, "", {}), spec)
        found.append((kept.rank(Hosts(table, left, "", {}), spec), columns(fresh)))
    # Read late, when all that came after has been put in, and in no order.
    for ranking, plain in data.draw(st.permutations(found)):
        assert columns(ranking) == plain


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, -0.0, 1.0, 2.5])), max_size=6))
def test_changes_of_a_column_are_what_comparing_all_of_it_finds(puts: list[tuple[int, float]]) -> None:
    column = WeigherColumn("w", np.array([0.0, 1.0, 2.5, -0.0, 7.0]), 1.0)
    for at, value in puts:
        position, was = np.array([at]), column.raw[[at]]
        after = column.put(position, np.array([value]), was)
        plain = WeigherColumn("w", after.raw, 1.0)
        found, expected = after.changes(column), plain.changes(column)
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]
        column = after
