from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.request.resources import derive_resources, resource_words
from scheduling.engine import ImageSnapshot
from tests.units.scheduling.worlds import flavor

NO_IMAGE = ImageSnapshot()


def amounts(specs: dict[str, str] | None = None, *, is_bfv: bool = False, **changes: Any) -> dict[str, int]:
    return dict(derive_resources(flavor(extra_specs=specs or {}, **changes), NO_IMAGE, is_bfv=is_bfv).amounts)


def test_flavor_gives_the_default_amounts() -> None:
    assert amounts() == {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 10}


def test_disk_is_root_ephemeral_and_swap_rounded_up() -> None:
    assert amounts(ephemeral_gib=5, swap_mib=1)["DISK_GB"] == 16


def test_boot_from_volume_needs_no_root_disk() -> None:
    assert amounts(is_bfv=True, swap_mib=1024)["DISK_GB"] == 1


def test_zero_amounts_are_dropped() -> None:
    assert "DISK_GB" not in amounts(root_gib=0)


@pytest.mark.parametrize(
    ("specs", "resource_class", "amount"),
    [
        ({"resources:VCPU": "7"}, "VCPU", 7),
        ({"resources:VCPU": "0"}, "VCPU", None),
        ({"resources:CUSTOM_GPU": "1"}, "CUSTOM_GPU", 1),
        ({"resources:VCPU": "-1"}, "VCPU", 2),
        ({"resources:VCPU": "many"}, "VCPU", 2),
        ({"resources1:CUSTOM_GPU": "1", "resources_b:CUSTOM_GPU": "2"}, "CUSTOM_GPU", 3),
        ({"resources1:VCPU": "1"}, "VCPU", 1),
        ({"resources1:MEMORY_MB": "64"}, "MEMORY_MB", 64),
    ],
)
def test_overrides_change_amounts(specs: dict[str, str], resource_class: str, amount: int | None) -> None:
    assert amounts(specs).get(resource_class) == amount


def test_ignored_keys_are_noted() -> None:
    found = derive_resources(flavor(extra_specs={"resources:VCPU": "x", "trait:HW_A": "maybe"}), NO_IMAGE)
    assert [note.split(" is ignored")[0] for note in found.notes] == ["resources:VCPU=x", "trait:HW_A=maybe"]


def test_traits_come_from_flavor_and_image() -> None:
    image = ImageSnapshot(properties={"trait:HW_C": "required", "trait:HW_D": "forbidden", "os": "x"})
    specs = {"trait:HW_A": "required", "trait1:HW_B": "required", "trait:HW_X": "forbidden"}
    found = derive_resources(flavor(extra_specs=specs), image)
    assert (found.required, found.forbidden) == (frozenset({"HW_A", "HW_B", "HW_C"}), frozenset({"HW_X"}))


def test_class_without_words_of_its_own_is_short_of_a_resource() -> None:
    assert resource_words("CUSTOM_GPU").short is RefusalReason.RESOURCE_SHORT
