"""What an operator sets aside: from options, settings and device specs."""

from dataclasses import replace

import pytest

from computeagent.conf import HostSettings
from computeagent.drivers.host_options import PciFound, ReservedPages
from computeagent.management.device_choice import device_choice
from computeagent.management.host_settings import host_options
from controlplane.kernel.errors import Invalid

NOTHING = HostSettings(image_cache_unused_s=3600.0)
CARD = PciFound("0000:81:00.0", "8086", "1572", "type-PF", devname="ens1f0")
FUNCTION = PciFound("0000:81:02.1", "8086", "154c", "type-VF", 1, CARD.address, "", "ens1f0")
GPU = PciFound("0000:0a:00.0", "10de", "1db6", "type-PCI", 0)
ALL = (GPU, CARD, FUNCTION)


def addresses(specs: str) -> list[object]:
    choice = device_choice(specs)
    return [] if choice is None else [device["address"] for device in choice(ALL)]


def test_nothing_set_aside_by_default() -> None:
    options = host_options({}, NOTHING)

    assert not options.has_cpu_sets
    assert (options.reserved_pages, options.pci_choice, options.unused_images_s) == ((), None, 3600.0)


def test_settings_are_read() -> None:
    options = host_options(
        {},
        replace(
            NOTHING,
            cpu_dedicated_set="2-3",
            cpu_shared_set="0",
            reserved_huge_pages="node:0,size:2048,count:1; node:1,size:2048,count:2",
        ),
    )

    assert (options.cpu_dedicated_set, options.cpu_shared_set) == ({2, 3}, {0})
    assert options.reserved_pages == (ReservedPages(0, 2048, 1), ReservedPages(1, 2048, 2))


def test_option_overrides_its_setting() -> None:
    options = host_options(
        {"cpu_dedicated_set": "5", "cpu_shared_set": "", "reserved_huge_pages": ["node:0,size:4,count:9"]},
        replace(NOTHING, cpu_dedicated_set="2-3", cpu_shared_set="0", reserved_huge_pages="nonsense"),
    )

    assert (options.cpu_dedicated_set, options.cpu_shared_set) == ({5}, set())
    assert options.reserved_pages == (ReservedPages(0, 4, 9),)


def test_one_spec_chooses_devices_by_vendor() -> None:
    assert addresses('{"vendor_id": "8086"}') == [CARD.address, FUNCTION.address]


def test_any_of_several_specs_chooses() -> None:
    assert addresses('[{"vendor_id": "10de"}, {"address": "0000:81:02.*"}]') == [GPU.address, FUNCTION.address]


def test_network_name_of_a_card_means_its_functions_too() -> None:
    assert addresses('{"devname": "ens1f0"}') == [CARD.address, FUNCTION.address]


@pytest.mark.parametrize("specs", ["", "  ", "[]"])
def test_no_spec_chooses_nothing(specs: str) -> None:
    assert device_choice(specs) is None


def test_chosen_device_is_reported_with_the_tags_of_its_spec() -> None:
    choice = device_choice('{"product_id": "154c", "physical_network": "physnet1", "trusted": "yes"}')

    assert choice is not None
    assert choice(ALL) == (
        {
            "address": "0000:81:02.1",
            "vendor_id": "8086",
            "product_id": "154c",
            "dev_type": "type-VF",
            "numa_node": 1,
            "parent_address": "0000:81:00.0",
            "label": "label_8086_154c",
            "tags": {"physical_network": "physnet1", "trusted": "yes"},
        },
    )


@pytest.mark.parametrize(
    "specs", ["{", "3", '["x"]', '{"vendor_id": "zz"}', '{"devname": "e", "address": "0000:81:00.0"}']
)
def test_specs_that_are_none_are_refused(specs: str) -> None:
    with pytest.raises(Invalid):
        device_choice(specs)
