"""The effect of stating an inventory anew, in sentences with numbers."""

from dataclasses import replace
from uuid import UUID

import pytest

from placement.domain import InventorySpec, InventoryUsage
from placement.domain.inventory_effect import InventoryEffect


def effect(after: InventorySpec, *, used: int = 150, consumers: int = 37, larger: int = 0) -> InventoryEffect:
    before = InventoryUsage(
        total=64, reserved=0, allocation_ratio=4.0, used=used, capacity=256, min_unit=1, max_unit=64, step_size=1
    )
    return InventoryEffect(
        provider_uuid=UUID(int=1),
        provider_name="h1",
        resource_class="VCPU",
        generation=7,
        before=before,
        after=after,
        consumers=consumers,
        larger_than_max=larger,
    )


SAME = InventorySpec(total=64, allocation_ratio=4.0, max_unit=64)


def test_shrinking_below_what_is_used_tells_by_how_much_and_that_nothing_stops() -> None:
    reported = effect(replace(SAME, allocation_ratio=2.0)).sentences()

    assert reported == [
        "Capacity 256 -> 128, used 150: over-committed by 22; no new claims of VCPU until as much is given back.",
        "What runs keeps running: 37 consumers hold some of this class and keep it.",
    ]


def test_growing_tells_what_is_free_then() -> None:
    assert effect(replace(SAME, total=128)).sentences() == ["Capacity 256 -> 512, used 150: 106 -> 362 free."]


def test_changes_are_listed_with_the_capacity_that_follows() -> None:
    changes = effect(replace(SAME, reserved=4, allocation_ratio=2.0)).changes

    assert changes == [("reserved", "0", "4"), ("allocation_ratio", "4.0", "2.0"), ("capacity", "256", "120")]


def test_numbers_that_are_the_same_change_nothing() -> None:
    assert effect(SAME).changes == []


@pytest.mark.parametrize(
    ("units", "reported"),
    [
        ({"max_unit": 16}, "Claims of more than 16 VCPU in one piece are refused; 3 larger ones are held and stay."),
        ({"min_unit": 2}, "Claims of less than 2 VCPU are refused."),
        ({"step_size": 4}, "Claims must be multiples of 4 VCPU."),
    ],
)
def test_units_tell_what_is_refused_from_then_on(units: dict[str, int], reported: str) -> None:
    assert reported in effect(replace(SAME, **units), larger=3).sentences()


def test_notes_of_other_apps_come_last() -> None:
    assert replace(effect(SAME), notes=("m1.large fits.",)).sentences()[-1] == "m1.large fits."
