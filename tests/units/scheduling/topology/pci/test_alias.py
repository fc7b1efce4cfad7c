"""Section 5.7: the grammar of aliases."""

from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.pci.alias import parse_aliases
from scheduling.topology.domain.pci.pool import NumaPolicy
from servers.catalog.domain.extra_specs import extra_spec_complaint

GPU = {"name": "gpu", "vendor_id": "10DE", "product_id": "1eb8"}


def fails(why: str, *entries: dict[str, Any], pci_in_placement: bool = False) -> None:
    with pytest.raises(Invalid, match=why):
        parse_aliases(entries, pci_in_placement=pci_in_placement)


def test_alias_is_legacy_unless_it_says_otherwise() -> None:
    found = parse_aliases([GPU])["gpu"]
    assert found.numa_policy is NumaPolicy.LEGACY
    assert found.specs == ((("product_id", "1eb8"), ("vendor_id", "10de")),)


def test_device_type_and_live_migratable_are_part_of_the_spec() -> None:
    found = parse_aliases([{**GPU, "device_type": "type-VF", "live_migratable": "yes", "numa_policy": "socket"}])["gpu"]
    assert {"dev_type": "type-VF", "live_migratable": "true"}.items() <= dict(found.specs[0]).items()
    assert found.numa_policy is NumaPolicy.SOCKET


def test_entries_of_one_name_are_alternatives() -> None:
    assert len(parse_aliases([GPU, {**GPU, "product_id": "1eb9"}])["gpu"].specs) == 2


def test_entries_of_one_name_must_agree_in_numa_policy() -> None:
    fails("numa_policy", GPU, {**GPU, "numa_policy": "required"})


def test_entries_of_one_name_must_agree_in_device_type() -> None:
    fails("device_type", GPU, {**GPU, "device_type": "type-PF"})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": "x" * 257}, "needs a name"),
        ({"vendor_id": "10d"}, "vendor_id"),
        ({"product_id": "zzzz"}, "product_id"),
        ({"device_type": "vdpa"}, "device_type"),
        ({"device_type": "card"}, "device_type"),
        ({"numa_policy": "near"}, "numa_policy"),
        ({"colour": "red"}, "colour"),
        ({"capability_type": "usb"}, "capability_type"),
    ],
)
def test_wrong_property_is_named(change: dict[str, str], why: str) -> None:
    fails(why, {**GPU, **change})


def test_ids_are_needed() -> None:
    fails("vendor_id and product_id", {"name": "gpu", "resource_class": "PGPU"})


def test_resource_class_is_enough_with_devices_in_placement() -> None:
    entry = {"name": "gpu", "resource_class": "PGPU"}
    assert parse_aliases([entry], pci_in_placement=True)["gpu"].specs == ((("resource_class", "PGPU"),),)
    fails("vendor_id", {"name": "gpu"}, pci_in_placement=True)


def test_alternatives_are_refused_with_devices_in_placement() -> None:
    fails("2 entries", GPU, GPU, pci_in_placement=True)


@pytest.mark.parametrize("name", ["gpu:1", "a,b", "x" * 257, "  ", "a\nb"])
def test_alias_that_no_flavor_could_ask_for_is_refused(name: str) -> None:
    fails("name of 1 to 256", {**GPU, "name": name})


@pytest.mark.parametrize("name", ["gpu card", "x" * 256, "GPU (A100)"])
def test_alias_is_asked_for_by_its_name(name: str) -> None:
    assert parse_aliases([{**GPU, "name": name}]).keys() == {name}
    assert extra_spec_complaint("pci_passthrough:alias", f"{name}:1") == ""
