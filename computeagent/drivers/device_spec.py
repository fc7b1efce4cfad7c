"""Device specs: which of a host's PCI devices guests may have, and with which tags. Source: Nova's `device_spec`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from computeagent.drivers.device_address import ANY, FIELD, AddressPattern, hexadecimal, parse_pattern
from computeagent.protocol.pci import PciDeviceRecord
from controlplane.kernel.booleans import is_true
from controlplane.kernel.errors import Invalid

_FLAGS = ("managed", "live_migratable", "one_time_use", "remote_managed")


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One rule. `tags` go to the pools of the devices it matches: physical_network, trusted, and any other name."""

    vendor_id: str = ANY
    product_id: str = ANY
    address: AddressPattern | None = None
    devname: str = ""
    tags: tuple[tuple[str, str], ...] = ()

    def matches(self, device: PciDeviceRecord) -> bool:
        """Whether the device is meant: by ids, and by network name or address.

        The exact address of a card, or its network name, means the card's virtual functions as well.
        """
        if self.vendor_id not in (ANY, device.vendor_id) or self.product_id not in (ANY, device.product_id):
            return False
        if self.devname:
            return self.devname in (device.devname, device.parent_devname)
        return self.address is None or self._is_at(device, self.address)

    def _is_at(self, device: PciDeviceRecord, pattern: AddressPattern) -> bool:
        if pattern.matches(device.address):
            return True
        return pattern.is_single and bool(device.parent_address) and pattern.matches(device.parent_address)


def device_specs_of_text(text: str) -> tuple[DeviceSpec, ...]:
    """The rules of JSON text, one object or a list of them, as Nova's [pci]device_spec; '' is none. Raises Invalid."""
    return parse_device_specs(_entries(text)) if text.strip() else ()


def parse_device_specs(entries: Iterable[Mapping[str, Any]]) -> tuple[DeviceSpec, ...]:
    """The rules in their order. Raises Invalid for a wrong id or address, or an address beside a devname."""
    return tuple(_spec(dict(entry)) for entry in entries)


def spec_of(device: PciDeviceRecord, specs: Iterable[DeviceSpec]) -> DeviceSpec | None:
    """The first rule that means the device; None: guests may not have it."""
    return next((spec for spec in specs if spec.matches(device)), None)


def devices_chosen(found: Iterable[PciDeviceRecord], specs: Sequence[DeviceSpec]) -> tuple[PciDeviceRecord, ...]:
    """Of a machine's devices those that guests may have, with Nova's label and the tags of the rule that means them."""
    pairs = ((device, spec_of(device, specs)) for device in found)
    return tuple(
        replace(device, label=f"label_{device.vendor_id}_{device.product_id}", tags=spec.tags)
        for device, spec in pairs
        if spec is not None
    )


def _entries(text: str) -> list[Mapping[str, Any]]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise Invalid(f"device specs are no JSON: {error}", field=FIELD) from error
    entries = data if isinstance(data, list) else [data]
    wrong = next((entry for entry in entries if not isinstance(entry, dict)), None)
    if wrong is not None:
        raise Invalid(f"a device spec is an object, not {json.dumps(wrong)[:80]}", field=FIELD)
    return entries


def _spec(entry: dict[str, Any]) -> DeviceSpec:
    vendor, product = (_id(name, entry.pop(name, ANY)) for name in ("vendor_id", "product_id"))
    address, devname = entry.pop("address", None), str(entry.pop("devname", "") or "")
    if address and devname:
        raise Invalid(f"devname {devname} and an address exclude each other", field=FIELD)
    tags = tuple(sorted((name, _tag(name, value)) for name, value in entry.items() if value is not None))
    return DeviceSpec(vendor, product, parse_pattern(address), devname, tags)


def _id(name: str, value: object) -> str:
    text = str(value).strip()
    return ANY if text == ANY else hexadecimal(name, text, 0xFFFF, 4)


def _tag(name: str, value: object) -> str:
    text = str(value).strip()
    return text if name not in _FLAGS else ("true" if is_true(text) else "false")
