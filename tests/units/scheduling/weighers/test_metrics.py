from typing import Any

import pytest

from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.policy import PolicyOptions
from scheduling.engine import HostTable
from scheduling.weighers.metrics import MetricsWeigher
from tests.units.scheduling.worlds import aggregate, chosen, every, host, policy, request, run, spec_of, table

MEASURED = table(
    host("a", metrics={"cpu.percent": 20, "cpu.frequency": 3}),
    host("b", metrics={"cpu.percent": 80, "cpu.frequency": 2}),
)
GAPPY = table(host("a", metrics={"cpu.percent": 20}), host("b", metrics={"cpu.frequency": 2}), host("c"))


def options(weights: dict[str, float], **changes: Any) -> PolicyOptions:
    return PolicyOptions(metrics_weight_setting=weights, **changes)


def raw(fleet: HostTable, given: PolicyOptions, multiplier: float | None = None) -> list[float]:
    return MetricsWeigher().weigh(every(fleet), spec_of(request(), given), multiplier)[0].tolist()


def test_sum_of_metrics_by_their_ratios() -> None:
    assert raw(MEASURED, options({"cpu.percent": -1.0, "cpu.frequency": 10.0})) == [10, -60]


def test_without_a_setting_hosts_are_equal() -> None:
    assert raw(GAPPY, options({})) == [0, 0, 0]


def test_required_metric_that_is_not_reported_fails_and_names_the_host() -> None:
    with pytest.raises(PluginFailed, match=r"requires the metric cpu.percent, b reports none"):
        raw(GAPPY, options({"cpu.percent": 1.0}))


def test_unavailable_metric_replaces_the_whole_sum() -> None:
    given = options({"cpu.percent": 1.0, "cpu.frequency": 1.0}, metrics_required=False)
    assert raw(GAPPY, given) == [-10000, -10000, -10000]


def test_weight_of_unavailable_is_the_policys() -> None:
    given = options({"cpu.percent": 1.0}, metrics_required=False, metrics_weight_of_unavailable=-5.0)
    assert raw(GAPPY, given) == [20, -5, -5]


def test_unavailable_metric_of_ratio_zero_counts_nothing() -> None:
    assert raw(GAPPY, options({"cpu.percent": 0.0}, metrics_required=False)) == [0, 0, 0]


def test_unavailable_metric_at_multiplier_zero_counts_nothing() -> None:
    assert raw(GAPPY, options({"cpu.percent": 1.0}, metrics_required=False), 0.0) == [20, 0, 0]


def test_multiplier_zero_of_one_aggregate_spares_its_hosts_alone() -> None:
    fleet = table(host("a"), host("b"), aggregates=(aggregate("x", "a", metrics_weight_multiplier="0"),))
    assert raw(fleet, options({"cpu.percent": 1.0}, metrics_required=False)) == [0, -10000]


@pytest.mark.parametrize("value", ["high", True, float("nan"), None])
def test_metric_that_is_no_number_counts_as_unavailable(value: object) -> None:
    fleet = table(host("a", metrics={"load": value}))
    assert raw(fleet, options({"load": 1.0}, metrics_required=False)) == [-10000]


@pytest.mark.parametrize(("multiplier", "winner"), [(None, "b"), (-1.0, "a")])
def test_direction_is_the_multipliers(multiplier: float | None, winner: str) -> None:
    rules = policy(weighers={"MetricsWeigher": multiplier}, options=options({"cpu.percent": 1.0}))
    assert chosen(run(MEASURED, request(), rules)) == [winner]
