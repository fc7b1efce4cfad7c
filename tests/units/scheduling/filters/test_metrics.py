from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.filters.metrics import MetricsFilter
from tests.units.scheduling.worlds import host, refused, request, table

FLEET = table(host("all", metrics={"cpu.percent": 3, "load": 0.5}), host("some", metrics={"load": 1}), host("none"))


def test_all_metrics_that_are_weighed_must_be_there() -> None:
    options = PolicyOptions(metrics_weight_setting={"cpu.percent": -1.0, "load": 2.0})
    found = refused(MetricsFilter(), FLEET, request(), options)
    assert {name: refusal.wanted for name, refusal in found.items()} == {
        "some": "cpu.percent",
        "none": "cpu.percent, load",
    }
    assert found["some"].reason is RefusalReason.METRIC_MISSING


def test_value_of_the_metric_does_not_matter() -> None:
    fleet = table(host("a", metrics={"load": None}))
    assert refused(MetricsFilter(), fleet, request(), PolicyOptions(metrics_weight_setting={"load": 1.0})) == {}


def test_without_a_setting_every_host_passes() -> None:
    assert refused(MetricsFilter(), FLEET, request()) == {}
