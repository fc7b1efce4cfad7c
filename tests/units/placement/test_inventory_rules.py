"""Capacity and the rules an amount must keep, on values alone."""

from uuid import UUID

import pytest

from controlplane.kernel.errors import Invalid
from placement.domain import (
    AmountRule,
    Claim,
    Demand,
    InventorySpec,
    InventoryUsage,
    broken_rule,
    capacity_error,
    capacity_of,
    demands_of,
    is_custom,
)
from placement.domain.findings import FindingKind, InventoryFacts, inventory_findings

A, B = UUID(int=1), UUID(int=2)


def usage(**changed: int) -> InventoryUsage:
    numbers = {"used": 3, "capacity": 10, "min_unit": 2, "max_unit": 6, "step_size": 2, **changed}
    return InventoryUsage(total=10, reserved=0, allocation_ratio=1.0, **numbers)


@pytest.mark.parametrize(
    ("total", "reserved", "ratio", "capacity"),
    [
        (8, 0, 1.0, 8),
        (8, 2, 16.0, 96),
        (5, 2, 1.5, 4),
        (100, 100, 4.0, 0),
        (10, 0, 0.0, 0),
        (100, 0, 0.29, 28),  # 0.29 * 100 is a little less than 29 in double precision, as Placement compares it
        (2**31 - 1, 0, 3e38, 2**63 - 1),
    ],
)
def test_capacity_is_what_is_not_reserved_times_the_ratio_rounded_down(total, reserved, ratio, capacity):
    assert capacity_of(total=total, reserved=reserved, allocation_ratio=ratio) == capacity


def test_impossible_spec_names_its_field():
    with pytest.raises(Invalid) as refused:
        InventorySpec(total=4, reserved=5).check("VCPU")

    assert refused.value.field == "inventories.VCPU.reserved"


@pytest.mark.parametrize(
    ("demand", "rule"),
    [
        (Demand(total=1, minimum=1, maximum=1, divisor=1), AmountRule.MIN_UNIT),
        (Demand(total=8, minimum=8, maximum=8, divisor=8), AmountRule.MAX_UNIT),
        (Demand(total=3, minimum=3, maximum=3, divisor=3), AmountRule.STEP_SIZE),
        (Demand(total=8, minimum=4, maximum=4, divisor=4), AmountRule.CAPACITY),
    ],
)
def test_each_rule_is_broken_by_its_name(demand, rule):
    shortage = broken_rule(A, "VCPU", demand, usage())

    assert shortage is not None
    assert shortage.rule is rule


def test_demand_that_fits_breaks_nothing():
    assert broken_rule(A, "VCPU", Demand(total=6, minimum=2, maximum=4, divisor=2), usage()) is None


def test_missing_inventory_has_no_room():
    shortage = broken_rule(A, "VCPU", Demand(1, 1, 1, 1), None)

    assert shortage is not None
    assert (shortage.rule, shortage.free) == (AmountRule.NO_INVENTORY, 0)


def test_capacity_error_speaks_in_numbers():
    shortage = broken_rule(A, "VCPU", Demand(total=8, minimum=4, maximum=4, divisor=4), usage())
    assert shortage is not None

    error = capacity_error([shortage])

    assert error.message == f"No capacity: VCPU of provider {A}: wants 8, has 7 free."
    assert error.extra["shortages"][0]["limit"] == 7


def test_free_is_never_negative():
    assert usage(used=12).free == 0


def test_demands_add_up_per_inventory_in_a_fixed_order():
    claims = [
        Claim(UUID(int=10), "p", "u", {B: {"VCPU": 2}, A: {"VCPU": 4}}),
        Claim(UUID(int=11), "p", "u", {A: {"VCPU": 6, "DISK_GB": 1}}),
    ]

    demands = demands_of(claims)

    assert list(demands) == [(A, "DISK_GB"), (A, "VCPU"), (B, "VCPU")]
    assert demands[A, "VCPU"] == Demand(total=10, minimum=4, maximum=6, divisor=2)


@pytest.mark.parametrize(
    ("name", "custom"), [("CUSTOM_GOLD", True), ("CUSTOM_", False), ("CUSTOM_gold", False), ("VCPU", False)]
)
def test_custom_names_are_recognised(name, custom):
    assert is_custom(name) is custom


def facts(**changed: int) -> InventoryFacts:
    return InventoryFacts(A, "VCPU", **{"used": 4, "capacity": 8, "used_when_set": 0, "allocated": 4, **changed})


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ({}, []),
        ({"used": 5}, [FindingKind.USED_DIFFERS]),
        ({"used": 9, "allocated": 9}, [FindingKind.OVER_ALLOCATED]),
        ({"used": 9, "allocated": 9, "used_when_set": 9}, []),
        ({"used": 9, "allocated": 10, "used_when_set": 9}, [FindingKind.USED_DIFFERS, FindingKind.OVER_ALLOCATED]),
    ],
)
def test_audit_compares_used_allocated_and_capacity(changed, kinds):
    assert [finding.kind for finding in inventory_findings([facts(**changed)])] == kinds
