from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from controlplane.kernel.reasons import RefusalReason
from scheduling.engine import InventoryRow
from tests.units.scheduling.worlds import aggregate, chosen, flavor, host, request, run, table, trace_reasons


@pytest.mark.parametrize(
    ("inventory", "memory_mib", "fits"),
    [
        (InventoryRow(4096), 4096, True),
        (InventoryRow(4096), 4097, False),
        (InventoryRow(4096, used=1), 4096, False),
        (InventoryRow(4096, reserved=1), 4096, False),
        (InventoryRow(4096, reserved=1024, allocation_ratio=1.5), 4608, True),
        (InventoryRow(4096, reserved=1024, allocation_ratio=1.5), 4609, False),
        (InventoryRow(4096, max_unit=2048), 2049, False),
        (InventoryRow(4096, min_unit=512), 511, False),
        (InventoryRow(4096, step_size=512), 1000, False),
        (InventoryRow(4096, step_size=512), 1024, True),
    ],
)
def test_room_is_bounded_as_the_claim_is(inventory: InventoryRow, memory_mib: int, fits: bool) -> None:
    trace = run(table(host("a", ram=inventory)), request(flavor=flavor(memory_mib=memory_mib)))
    assert bool(trace.selections) is fits


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vcpus": 17}, RefusalReason.VCPU_SHORT),
        ({"memory_mib": 40000}, RefusalReason.RAM_SHORT),
        ({"root_gib": 501}, RefusalReason.DISK_SHORT),
        ({"extra_specs": {"resources:CUSTOM_GPU": "1"}}, RefusalReason.RESOURCE_SHORT),
        ({"extra_specs": {"trait:CUSTOM_X": "required"}}, RefusalReason.TRAIT_MISSING),
        ({"extra_specs": {"trait:HW_A": "forbidden"}}, RefusalReason.TRAIT_FORBIDDEN),
    ],
)
def test_what_is_short_is_the_reason(changes: dict[str, Any], reason: RefusalReason) -> None:
    trace = run(table(host("a", traits=frozenset({"HW_A"}))), request(flavor=flavor(**changes)))
    assert trace_reasons(trace) == {"a": reason}


def test_refusal_has_the_numbers() -> None:
    inventory = InventoryRow(8192, used=10388, allocation_ratio=1.5)
    trace = run(table(host("a", ram=inventory)), request(flavor=flavor(memory_mib=4096)))
    refusal = trace.refusal_of(0)
    assert refusal is not None
    assert refusal.sentence() == "memory: wants 4 GiB, has 1,900 MiB of 8 GiB after 1.5x"


def test_over_allocated_host_has_nothing_rather_than_less() -> None:
    refusal = run(table(host("a", vcpu=InventoryRow(4, used=9))), request()).refusal_of(0)
    assert refusal is not None
    assert refusal.available == 0


def test_member_of_needs_one_aggregate_of_each_set() -> None:
    fleet = table(host("a"), host("b"), aggregates=(aggregate("x", "a", "b"), aggregate("y", "b")))
    asked = request(member_of=(frozenset({"agg-x"}), frozenset({"agg-y", "agg-z"})))
    assert trace_reasons(run(fleet, asked)) == {"a": RefusalReason.NOT_IN_AGGREGATE}


def test_image_traits_and_request_traits_are_required_too() -> None:
    fleet = table(host("a", traits=frozenset({"HW_A"})), host("b", traits=frozenset({"HW_A", "HW_B"})))
    asked = request(properties={"trait:HW_A": "required"}, required_traits=frozenset({"HW_B"}))
    assert chosen(run(fleet, asked)) == ["b"]


def test_trait_both_required_and_forbidden_is_invalid() -> None:
    asked = request(specs={"trait:HW_A": "forbidden"}, required_traits=frozenset({"HW_A"}))
    with pytest.raises(Invalid, match="HW_A is both"):
        run(table(host("a")), asked)
