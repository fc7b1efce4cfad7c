"""The PCI devices of a libvirt host: from its node devices to what a guest may be given."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, is_no_node_device, is_unsupported, libvirt
from computeagent.protocol.pci import DeviceType, PciDeviceRecord


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """What libvirt says, as XML texts: PCI devices, network interfaces, and vDPA devices."""

    pci: tuple[str, ...]
    net: tuple[str, ...] = ()
    vdpa: tuple[str, ...] = ()


def pci_devices(conn: Any) -> tuple[PciDeviceRecord, ...]:
    """Every PCI device of the machine, in the order of addresses.

    Raises DriverError where libvirt cannot list devices: an embedded hypervisor has no driver for them.
    """
    try:
        return pci_found(
            NodeDevices(
                pci=_texts(conn, libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV),
                net=_texts(conn, libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET),
                vdpa=_texts(conn, libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_VDPA),
            )
        )
    except LibvirtError as error:
        if not is_unsupported(error):
            raise
        raise DriverError(
            "device specs are given, but this hypervisor cannot list PCI devices: libvirt's node device driver is not "
            "there (qemu:///system has it, an embedded hypervisor does not)"
        ) from error


def pci_found(devices: NodeDevices) -> tuple[PciDeviceRecord, ...]:
    """The PCI devices, with the names of their network interfaces and of their cards'."""
    names = {parent: name for parent, name in map(_interface, devices.net) if name}
    vdpa_parents = {ET.fromstring(text).findtext("parent", "") for text in devices.vdpa}  # noqa: S314 - libvirt's own
    parsed = [_parsed(text) for text in devices.pci]
    by_address = {found.address: names.get(name, "") for name, found in parsed}
    return tuple(
        sorted(
            (_named(name, found, names, by_address, vdpa_parents) for name, found in parsed),
            key=lambda found: found.address,
        )
    )


def _named(
    name: str, found: PciDeviceRecord, names: dict[str, str], by_address: dict[str, str], vdpa_parents: set[str]
) -> PciDeviceRecord:
    is_vdpa = found.dev_type is DeviceType.VF and name in vdpa_parents
    return replace(
        found,
        dev_type=DeviceType.VDPA if is_vdpa else found.dev_type,
        devname=names.get(name, ""),
        parent_devname=by_address.get(found.parent_address, ""),
    )


def _texts(conn: Any, kind: int) -> tuple[str, ...]:
    """The XML of all devices of a kind; one that vanishes meanwhile is left out."""
    texts = []
    for device in conn.listAllDevices(kind):
        try:
            texts.append(device.XMLDesc(0))
        except LibvirtError as error:
            if not is_no_node_device(error):
                raise
    return tuple(texts)


def _interface(text: str) -> tuple[str, str]:
    """Parent device and interface name of a network node device."""
    root = ET.fromstring(text)  # noqa: S314 - libvirt's own output, no document from outside
    return root.findtext("parent", ""), root.findtext("capability/interface", "")


def _parsed(text: str) -> tuple[str, PciDeviceRecord]:
    """libvirt's name of the device, and the device without what other devices say of it."""
    root = ET.fromstring(text)  # noqa: S314 - libvirt's own output, no document from outside
    pci = root.find("capability[@type='pci']")
    if pci is None:
        raise DriverError(f"{text[:80]!r} is no PCI device")
    parent = _parent(pci)
    return root.findtext("name", ""), PciDeviceRecord(
        address=_address(*(int(pci.findtext(part, "0"), 0) for part in ("domain", "bus", "slot", "function"))),
        vendor_id=_id(pci, "vendor"),
        product_id=_id(pci, "product"),
        dev_type=_type(pci, parent),
        numa_node=_numa_node(pci),
        parent_address=parent,
    )


def _type(pci: ET.Element, parent: str) -> DeviceType:
    if pci.find("capability[@type='virt_functions']") is not None:
        return DeviceType.PF
    return DeviceType.VF if parent else DeviceType.STANDARD


def _parent(pci: ET.Element) -> str:
    """The card's address of a virtual function; '' for other devices."""
    address = pci.find("capability[@type='phys_function']/address")
    if address is None:
        return ""
    return _address(*(int(address.get(part, "0"), 0) for part in ("domain", "bus", "slot", "function")))


def _address(domain: int, bus: int, slot: int, function: int) -> str:
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def _id(pci: ET.Element, tag: str) -> str:
    element = pci.find(tag)
    return f"{int(element.get('id', '0') if element is not None else '0', 0):04x}"


def _numa_node(pci: ET.Element) -> int | None:
    """The kernel says -1 where it does not know."""
    element = pci.find("numa")
    node = -1 if element is None else int(element.get("node", "-1"))
    return None if node < 0 else node
