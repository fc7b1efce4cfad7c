import json
from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.domain.policy import DEFAULT_POLICY, Policy, PolicyOptions, WeigherSetting
from scheduling.engine import policy_from_dict, policy_to_dict, validate_policy


@pytest.mark.parametrize(
    "policy",
    [
        DEFAULT_POLICY,
        Policy(
            "v2",
            ("ComputeFilter",),
            (WeigherSetting("RAMWeigher", -2.5),),
            3,
            True,
            1,
            PolicyOptions(max_io_ops_per_host=2, extra={"mine": [1]}),
        ),
    ],
)
def test_policy_survives_json(policy: Policy) -> None:
    assert policy_from_dict(json.loads(json.dumps(policy_to_dict(policy))), version=policy.version) == policy


def test_empty_body_is_the_default() -> None:
    assert policy_from_dict({}, version="defaults") == DEFAULT_POLICY


def test_default_policy_can_be_had() -> None:
    validate_policy(DEFAULT_POLICY)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"filter": []}, "filter"),
        ({"filters": "ComputeFilter"}, "filters"),
        ({"filters": ["A", "A"]}, "filters"),
        ({"filters": [1]}, "filters"),
        ({"weighers": ["RAMWeigher"]}, "weighers"),
        ({"weighers": {"RAMWeigher": "big"}}, "weighers.RAMWeigher"),
        ({"weighers": {"RAMWeigher": float("nan")}}, "weighers.RAMWeigher"),
        ({"weighers": {"RAMWeigher": True}}, "weighers.RAMWeigher"),
        ({"host_subset_size": 0}, "host_subset_size"),
        ({"max_attempts": True}, "max_attempts"),
        ({"shuffle_best_same_weighed_hosts": 1}, "shuffle_best_same_weighed_hosts"),
        ({"options": {"max_io_ops": 1}}, "options.max_io_ops"),
        ({"options": {"max_io_ops_per_host": "8"}}, "options.max_io_ops_per_host"),
        ({"options": {"max_io_ops_per_host": -1}}, "options.max_io_ops_per_host"),
        ({"options": {"limit_tenants_to_placement_aggregate": 1}}, "options.limit_tenants_to_placement_aggregate"),
        ({"options": {"extra": []}}, "options.extra"),
    ],
)
def test_bad_body_names_the_field(body: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        policy_from_dict(body, version="v1")
    assert caught.value.field == field
