import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.aggregate_extra_specs import AggregateInstanceExtraSpecsFilter
from tests.units.scheduling.worlds import aggregate, host, reasons, refused, request, table

FLEET = table(
    host("in-both"),
    host("in-fast"),
    host("in-none"),
    aggregates=(
        aggregate("fast", "in-both", "in-fast", disk="ssd, nvme", cpus="8"),
        aggregate("big", "in-both", disk="hdd", odd="a:b"),
    ),
)


@pytest.mark.parametrize(
    ("specs", "refused_hosts"),
    [
        ({}, set()),
        ({"aggregate_instance_extra_specs:disk": "ssd"}, {"in-none"}),
        ({"disk": "nvme"}, {"in-none"}),
        ({"disk": "hdd"}, {"in-fast", "in-none"}),
        ({"disk": "tape"}, {"in-both", "in-fast", "in-none"}),
        ({"aggregate_instance_extra_specs:cpus": ">= 4"}, {"in-none"}),
        ({"aggregate_instance_extra_specs:cpus": ">= 16"}, {"in-both", "in-fast", "in-none"}),
        ({"disk": "<or> hdd <or> ssd"}, {"in-none"}),
        ({"disk": ">= 4"}, {"in-both", "in-fast", "in-none"}),
        ({"capabilities:disk": "tape"}, set()),
        ({"hw:numa_nodes": "2"}, set()),
        ({"hide_hypervisor_id": "true", "group_policy": "none"}, set()),
    ],
)
def test_key_needs_one_fitting_value_of_the_hosts_aggregates(specs: dict[str, str], refused_hosts: set[str]) -> None:
    assert set(refused(AggregateInstanceExtraSpecsFilter(), FLEET, request(specs=specs))) == refused_hosts


def test_missing_key_is_told_from_a_wrong_value() -> None:
    found = reasons(AggregateInstanceExtraSpecsFilter(), FLEET, request(specs={"disk": "hdd"}))
    assert found == {
        "in-fast": RefusalReason.AGGREGATE_METADATA_MISMATCH,
        "in-none": RefusalReason.AGGREGATE_METADATA_MISSING,
    }


def test_refusal_names_the_values_there_are() -> None:
    refusal = refused(AggregateInstanceExtraSpecsFilter(), FLEET, request(specs={"disk": "hdd"}))["in-fast"]
    assert refusal.sentence() == "wants aggregate metadata disk hdd, has nvme, ssd"
