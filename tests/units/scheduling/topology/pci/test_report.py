"""Devices of a report, laid over those that are known."""

from dataclasses import replace
from typing import Any

import pytest

from computeagent.protocol.pci import DeviceState, PciDeviceRecord
from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.devices import Devices, claim, free
from scheduling.topology.domain.pci.report import devices_merged, devices_reported

GPU = PciRequest(1, ((("vendor_id", "10de"),),), "gpu")


def entry(address: str = "0000:81:00.0", **more: Any) -> PciDeviceRecord:
    return PciDeviceRecord(
        **{"address": address, "vendor_id": "10DE", "product_id": "1eb8", "dev_type": "type-PCI", **more}
    )


def owned() -> Devices:
    found = claim(devices_reported([entry(), entry("0000:82:00.0")]), (GPU,), "guest")
    assert isinstance(found, tuple)
    return found


def states(devices: Devices) -> dict[str, tuple[str, str]]:
    return {each.address: (each.state.value, each.owner) for each in devices}


def test_ids_are_lower_case_and_unknown_places_none() -> None:
    (found,) = devices_reported([entry(numa_node=-1, label="card", tags=(("trusted", "true"),))])
    assert (found.vendor_id, found.numa_node, found.label) == ("10de", None, "card")
    assert found.tags == (("trusted", "true"),)


def test_host_does_not_say_who_has_a_device() -> None:
    (found,) = devices_reported([entry(state=DeviceState.ALLOCATED, owner="guest", devname="ens1")])
    assert (found.state, found.owner, found.devname) == ("available", "", "")


def test_report_keeps_the_owner_we_know() -> None:
    found = devices_merged(owned(), devices_reported([entry(), entry("0000:82:00.0")]))
    assert states(found) == {"0000:81:00.0": ("claimed", "guest"), "0000:82:00.0": ("available", "")}


def test_device_that_is_gone_is_deleted_or_removed() -> None:
    found = devices_merged(owned(), ())
    assert states(found) == {"0000:81:00.0": ("removed", "guest"), "0000:82:00.0": ("deleted", "")}


def test_device_that_is_back_is_its_guests_again() -> None:
    gone = devices_merged(owned(), ())
    back = devices_merged(gone, devices_reported([entry()]))
    assert states(back)["0000:81:00.0"] == ("allocated", "guest")


def test_removed_device_that_is_freed_is_gone() -> None:
    gone = devices_merged(owned(), ())
    assert states(free(gone, "guest"))["0000:81:00.0"] == ("deleted", "")


def test_new_function_of_a_card_in_use_is_unclaimable() -> None:
    card = entry("0000:81:00.0", dev_type="type-PF")
    mine = claim(devices_reported([card]), (PciRequest(1, ((("dev_type", "type-PF"),),)),), "guest")
    assert isinstance(mine, tuple)
    function = entry("0000:81:00.1", dev_type="type-VF", parent_address="0000:81:00.0")
    found = devices_merged(mine, devices_reported([card, function]))
    assert states(found)["0000:81:00.1"] == ("unclaimable", "")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"address": "81:00"}, "no PCI address"),
        ({"address": ""}, "no PCI address"),
        ({"vendor_id": "nvidia"}, "vendor_id 'nvidia'"),
        ({"dev_type": "gpu"}, "dev_type 'gpu'"),
        ({"numa_node": "0"}, "numa_node '0'"),
        ({"parent_address": "x"}, "no PCI address"),
        ({"tags": ("a",)}, "tags map"),
    ],
)
def test_device_that_cannot_be_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        devices_reported([replace(entry(), **wrong)])
