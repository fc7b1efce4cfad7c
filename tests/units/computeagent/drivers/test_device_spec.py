"""Section 5.7: device specs."""

from typing import Any

import pytest

from computeagent.drivers.device_spec import DeviceSpec, parse_device_specs, spec_of
from computeagent.protocol.pci import PciDeviceRecord
from controlplane.kernel.errors import Invalid

CARD = "0000:0a:00.0"


def device(address: str = CARD, kind: str = "type-PCI", **changes: Any) -> PciDeviceRecord:
    return PciDeviceRecord(address, "8086", "1572", kind, **changes)


def spec(**entry: Any) -> DeviceSpec:
    return parse_device_specs([entry])[0]


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"vendor_id": "8086"},
        {"vendor_id": "*", "product_id": "1572"},
        {"address": CARD},
        {"address": "*:0a:00.*"},
        {"address": ":0a:"},
        {"address": ".0"},
        {"address": "0a:00"},
        {"address": {"bus": "0[a-c]", "function": "[0-2]"}},
        {"devname": "eth0"},
    ],
)
def test_device_is_meant_by_ids_address_or_name(entry: dict[str, Any]) -> None:
    assert spec(**entry).matches(device(devname="eth0"))


@pytest.mark.parametrize(
    "entry",
    [
        {"vendor_id": "10de"},
        {"address": "*:0b:*.*"},
        {"address": {"function": "[1-7]"}},
        {"devname": "eth1"},
        {"address": "0000:0a:01.0"},
    ],
)
def test_other_devices_are_not_meant(entry: dict[str, Any]) -> None:
    assert not spec(**entry).matches(device(devname="eth0"))


@pytest.mark.parametrize("entry", [{"address": CARD}, {"devname": "eth0"}])
def test_card_by_name_or_exact_address_means_its_functions(entry: dict[str, str]) -> None:
    function = device("0000:0a:02.1", "type-VF", parent_address=CARD, parent_devname="eth0")
    assert spec(**entry).matches(function)


@pytest.mark.parametrize(
    "entry",
    [
        {"vendor_id": "12345"},
        {"vendor_id": "xyz"},
        {"address": "0:0:0:0.0"},
        {"address": "*:*:20.*"},
        {"address": "*:*:*.8"},
        {"address": {"bus": "["}},
        {"address": {"port": "1"}},
        {"address": CARD, "devname": "eth0"},
    ],
)
def test_malformed_spec_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        spec(**entry)


def test_other_keys_are_tags_and_flags_are_spelled_one_way() -> None:
    found = spec(vendor_id="8086", physical_network="fast", live_migratable="Yes")
    assert found.tags == (("live_migratable", "true"), ("physical_network", "fast"))


def test_first_spec_that_means_a_device_counts() -> None:
    specs = parse_device_specs([{"address": CARD, "trusted": "true"}, {"vendor_id": "8086"}])
    assert spec_of(device(), specs) is specs[0]
    assert spec_of(device("0000:0b:00.0"), specs) is specs[1]
    assert spec_of(device(), ()) is None
