"""Devices as a host reports them, laid over those that are known of it."""

import re
from collections.abc import Iterable
from dataclasses import replace

from computeagent.protocol.pci import DeviceState, DeviceType, PciDeviceRecord, split_address
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.pci.devices import Devices, settled

FIELD = "pci_devices"
_ID = re.compile(r"^[0-9a-f]{4}$")


def devices_reported(report: Iterable[PciDeviceRecord]) -> Devices:
    """The devices of a report, free, in the order of addresses. Raises Invalid for one that cannot be."""
    found: dict[str, PciDeviceRecord] = {}
    for entry in report:
        device = _device(entry)
        if device.address in found:
            raise Invalid(_("The PCI device {address} is reported twice.", address=device.address), field=FIELD)
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


def _device(reported: PciDeviceRecord) -> PciDeviceRecord:
    """As rows keep it: names of network interfaces are the host's own, and who has it is not the host's to say."""
    address, parent = reported.address.lower(), reported.parent_address.lower()
    for each in filter(None, (address or "no address", parent)):
        split_address(each, FIELD)
    ids = {name: getattr(reported, name).lower() for name in ("vendor_id", "product_id")}
    for name, text in ids.items():
        if not _ID.match(text):
            raise Invalid(
                _(
                    "PCI device {address}: {name} {text!r} is not of four hexadecimal digits.",
                    address=address,
                    name=name,
                    text=text,
                ),
                field=FIELD,
            )
    if reported.dev_type not in tuple(DeviceType):
        known = ", ".join(DeviceType)
        raise Invalid(
            _(
                "PCI device {address}: dev_type {dev_type!r} is none of {known}.",
                address=address,
                dev_type=reported.dev_type,
                known=known,
            ),
            field=FIELD,
        )
    try:
        tags = tuple(sorted((str(name), str(value)) for name, value in reported.tags))
    except ValueError as error:
        raise Invalid(_("PCI device {address}: tags map names to text.", address=address), field=FIELD) from error
    return PciDeviceRecord(
        address=address,
        vendor_id=ids["vendor_id"],
        product_id=ids["product_id"],
        dev_type=DeviceType(reported.dev_type),
        numa_node=_node(address, reported.numa_node),
        parent_address=parent,
        label=reported.label[:255],
        tags=tags,
    )


def _node(address: str, value: object) -> int | None:
    """The kernel says -1 of a device whose place it does not know."""
    if value is None or value == -1:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Invalid(
            _("PCI device {address}: numa_node {value!r} is no cell's number.", address=address, value=value),
            field=FIELD,
        )
    return value
