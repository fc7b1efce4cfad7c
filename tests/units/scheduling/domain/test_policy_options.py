"""Options that filters read: lists, ratios, and what is wrong with others."""

from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.domain.policy import PolicyOptions, policy_from_dict, policy_to_dict
from scheduling.domain.request.schedule_request import request_from_dict, request_to_dict
from tests.units.scheduling.worlds import request

OPTIONS = {
    "isolated_images": ["i1", "i2"],
    "isolated_hosts": ["cmp-1"],
    "restrict_isolated_hosts_to_isolated_images": False,
    "aggregate_image_properties_isolation_namespace": "kept",
    "aggregate_image_properties_isolation_separator": "/",
    "metrics_weight_setting": {"cpu.percent": -1.5, "load": 2},
}


def test_options_of_filters_are_read_and_written_alike() -> None:
    policy = policy_from_dict({"options": OPTIONS}, version="v")
    written = policy_to_dict(policy)["options"]
    assert {name: written[name] for name in OPTIONS} == OPTIONS
    assert policy_from_dict({"options": written}, version="v") == policy
    assert policy.options.isolated_images == ("i1", "i2")


def test_defaults_are_novas() -> None:
    options = PolicyOptions()
    assert (options.max_instances_per_host, options.max_io_ops_per_host) == (50, 8)
    assert (options.isolated_images, options.isolated_hosts) == ((), ())
    assert options.restrict_isolated_hosts_to_isolated_images
    assert options.aggregate_image_properties_isolation_namespace is None
    assert options.aggregate_image_properties_isolation_separator == "."
    assert options.metrics_weight_setting == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("isolated_images", "i1"),
        ("isolated_images", [1]),
        ("isolated_hosts", {"a": 1}),
        ("restrict_isolated_hosts_to_isolated_images", "yes"),
        ("aggregate_image_properties_isolation_namespace", 7),
        ("aggregate_image_properties_isolation_separator", None),
        ("metrics_weight_setting", ["load=1"]),
        ("metrics_weight_setting", {"load": "1"}),
        ("metrics_weight_setting", {"load": True}),
        ("metrics_weight_setting", {"load": float("nan")}),
    ],
)
def test_option_of_the_wrong_kind_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        policy_from_dict({"options": {name: value}}, version="v")
    assert refused.value.field == f"options.{name}"


def test_hosts_that_were_tried_are_kept_with_the_request() -> None:
    asked = request(retry=(("a", "a.lab"),))
    assert request_from_dict(request_to_dict(asked)) == asked
