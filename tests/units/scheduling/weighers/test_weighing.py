import numpy as np
import pytest

from scheduling.domain.trace.weighing import normalise
from scheduling.engine import InventoryRow
from tests.units.scheduling.worlds import aggregate, chosen, host, policy, request, run, table


@pytest.mark.parametrize(
    ("raw", "floor", "ceiling", "expected"),
    [
        ([1, 2, 3], None, None, [0, 0.5, 1]),
        ([5, 5], None, None, [0, 0]),
        ([100, 101], None, None, [0, 1]),  # any difference spans the scale
        ([50, 100], 0, None, [0.5, 1]),
        ([100, 100], 0, None, [1, 1]),  # a tie above the floor
        ([0, 0], 0, None, [0, 0]),
        ([-10, 10], 0, None, [0, 1]),  # clamped
        ([-5, -1], 0, None, [0, 0]),
        ([1, 20], 0, 10, [0.1, 1]),
        ([1, 2], None, 4, [0, 1 / 3]),
    ],
)
def test_values_are_scaled_as_nova_scales(
    raw: list[float], floor: float | None, ceiling: float | None, expected: list[float]
) -> None:
    assert normalise(np.array(raw, dtype=np.float64), floor=floor, ceiling=ceiling).tolist() == pytest.approx(expected)


def ram(free_mib: int) -> InventoryRow:
    return InventoryRow(32768, used=32768 - free_mib)


def test_scores_add_up_over_weighers() -> None:
    fleet = table(host("a", ram=ram(8192), num_io_ops=2), host("b", ram=ram(16384), num_io_ops=4))
    trace = run(fleet, request(), policy(weighers={"RAMWeigher": 2.0, "IoOpsWeigher": None}))
    ranking = trace.rounds[0].ranking
    assert ranking is not None
    assert ranking.scores.tolist() == pytest.approx([2 * 0.5 - 0.5, 2 - 1])


def test_single_host_is_not_weighed() -> None:
    ranking = run(table(host("a")), request()).rounds[0].ranking
    assert ranking is not None
    assert (ranking.weighers, ranking.scores.tolist()) == ((), [0.0])


def test_aggregate_overrides_the_multiplier_and_the_least_wins() -> None:
    aggregates = (
        aggregate("one", "a", ram_weight_multiplier="5"),
        aggregate("two", "a", ram_weight_multiplier="-3"),
    )
    fleet = table(host("a"), host("b", ram=ram(16384)), aggregates=aggregates)
    trace = run(fleet, request(), policy(weighers={"RAMWeigher": 1.0}))
    ranking = trace.rounds[0].ranking
    assert ranking is not None
    assert ranking.weighers[0].weighted().tolist() == pytest.approx([-3, 0.5])
    assert chosen(trace) == ["b"]


def test_multiplier_that_is_no_number_is_noted_and_the_policys_used() -> None:
    fleet = table(host("a"), host("b", ram=ram(4096)), aggregates=(aggregate("x", "a", ram_weight_multiplier="big"),))
    trace = run(fleet, request())
    assert chosen(trace) == ["a"]
    assert "ram_weight_multiplier of aggregates x" in trace.notes[0]


def test_equals_keep_the_order_of_names() -> None:
    assert chosen(run(table(host("c"), host("a"), host("b")), request())) == ["a"]


def test_build_failure_override_is_negated_too() -> None:
    fleet = table(
        host("a", failed_builds=3),
        host("b", ram=ram(4096)),
        aggregates=(aggregate("x", "a", "b", build_failure_weight_multiplier="0"),),
    )
    assert chosen(run(fleet, request(), policy(weighers={"RAMWeigher": 1.0, "BuildFailureWeigher": None}))) == ["a"]
