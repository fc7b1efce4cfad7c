"""Devices as a host reports them, laid over those that are known of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.pci.address import split_address
from scheduling.topology.domain.pci.devices import Devices, DeviceState, PciDeviceRecord, settled
from scheduling.topology.domain.pci.pool import DeviceType

FIELD = "pci_devices"
_ID = re.compile(r"^[0-9a-f]{4}$")


def devices_reported(report: Iterable[Mapping[str, Any]]) -> Devices:
    """The devices of a report, free, in the order of addresses. Raises Invalid for one that cannot be."""
    found: dict[str, PciDeviceRecord] = {}
    for entry in report:
        device = _device(entry)
        if device.address in found:
            raise Invalid(f"The PCI device {device.address} is reported twice.", field=FIELD)
        found[device.address] = device
    return tuple(found[address] for address in sorted(found))


def devices_merged(known: Devices, reported: Devices) -> Devices:
    """What the host has now: reported devices with the owners we know of.

    A device that is gone is `removed` while a guest has it, `deleted` if nobody does; one that is back is its guest's
    again. The report alone says what a device is; who has it is never the host's word.
    """
    present = {each.address: each for each in reported}
    before = {each.address: each for each in known}
    gone = (_gone(each) for each in known if each.address not in present)
    here = (_here(each, before.get(each.address)) for each in reported)
    return settled(tuple(sorted((*gone, *here), key=lambda each: each.address)))


def _gone(device: PciDeviceRecord) -> PciDeviceRecord:
    return replace(device, state=DeviceState.REMOVED if device.owner else DeviceState.DELETED)


def _here(reported: PciDeviceRecord, known: PciDeviceRecord | None) -> PciDeviceRecord:
    if known is None or not known.owner:
        return reported
    state = DeviceState.ALLOCATED if known.state is DeviceState.REMOVED else known.state
    return replace(reported, owner=known.owner, state=state)


def _device(entry: Mapping[str, Any]) -> PciDeviceRecord:
    address, parent = str(entry.get("address", "")).lower(), str(entry.get("parent_address") or "").lower()
    for each in filter(None, (address or "no address", parent)):
        _check_address(each)
    ids = {name: str(entry.get(name, "")).lower() for name in ("vendor_id", "product_id")}
    for name, text in ids.items():
        if not _ID.match(text):
            raise Invalid(f"PCI device {address}: {name} {text!r} is not of four hexadecimal digits.", field=FIELD)
    tags = entry.get("tags") or {}
    if not isinstance(tags, Mapping):
        raise Invalid(f"PCI device {address}: tags map names to text.", field=FIELD)
    return PciDeviceRecord(
        address=address,
        vendor_id=ids["vendor_id"],
        product_id=ids["product_id"],
        dev_type=_type(address, entry.get("dev_type")),
        numa_node=_node(address, entry.get("numa_node")),
        parent_address=parent,
        devname=str(entry.get("label") or "")[:255],
        tags=tuple(sorted((str(name), str(value)) for name, value in tags.items())),
    )


def _check_address(text: str) -> None:
    try:
        split_address(text)
    except Invalid as error:
        raise Invalid(error.message, field=FIELD) from error


def _type(address: str, value: object) -> str:
    if value not in tuple(DeviceType):
        known = ", ".join(DeviceType)
        raise Invalid(f"PCI device {address}: dev_type {value!r} is none of {known}.", field=FIELD)
    return str(value)


def _node(address: str, value: object) -> int | None:
    """The kernel says -1 of a device whose place it does not know."""
    if value is None or value == -1:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Invalid(f"PCI device {address}: numa_node {value!r} is no cell's number.", field=FIELD)
    return value
