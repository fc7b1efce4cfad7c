"""A guest's definition as typed values, and the XML that libvirt reads, made of elements and never of text.

Nothing here touches libvirt or a file. Text in it comes from users: ElementTree escapes it, and `xml_text` replaces
what XML cannot carry at all (control characters, lone surrogates).
"""

import uuid
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.cpu_xml import add_cpu
from computeagent.drivers.libvirt.firmware import GuestFirmware
from computeagent.drivers.libvirt.firmware_xml import add_firmware, add_management_mode
from computeagent.drivers.libvirt.guest_cpu import GuestCpu
from computeagent.drivers.libvirt.guest_options import NO_OPTIONS, GuestOptions
from computeagent.drivers.libvirt.guest_tuning import GuestTuning
from computeagent.drivers.libvirt.options_xml import (
    KIB_PER_MIB,
    add_clock,
    add_devices,
    add_disk_limits,
    add_features,
    add_interface_options,
    add_pcie_ports,
    add_power_management,
    add_scsi_controller,
    add_target,
    rng_device,
)
from computeagent.drivers.libvirt.tap_xml import tap_interface
from computeagent.drivers.libvirt.tuning_xml import (
    add_cpu_tuning,
    add_memory_backing,
    add_numa_tuning,
    host_device,
    mediated_device,
)
from computeagent.drivers.libvirt.volume_xml import VolumeDevice, volume_disk
from computeagent.drivers.libvirt.xml_text import xml_text
from computeagent.protocol.guests import GuestSpec
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.ids import parse_uuid

METADATA_NAMESPACE = "urn:kilonova:instance:1"
ET.register_namespace("kilonova", METADATA_NAMESPACE)
QEMU_NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
ET.register_namespace("qemu", QEMU_NAMESPACE)
# libvirt's filter against false MAC and IP addresses, in IP, ARP and others.
CLEAN_TRAFFIC = "clean-traffic"
# QEMU's names of the cards that `hw_vif_model` may name, where libvirt's own differ.
_QEMU_CARDS = {"virtio": "virtio-net-pci"}
# libvirt gives out slots from the lowest; these are the highest that no machine uses itself.
_ISOLATED_SLOT_LAST = 0x1A

# libvirt puts the name into socket paths, which may have 107 bytes in all: hence not the whole uuid.
DOMAIN_NAME_LENGTH = len("i-") + 12

NO_TUNING = GuestTuning()
BALLOON_PERIOD_S = 30


@dataclass(frozen=True, slots=True)
class GuestMetadata:
    """What we write into a domain to know it again as ours. Sizes are those of the flavor."""

    uuid: str
    name: str
    project_id: str
    image_id: str
    root_gib: int
    ephemeral_gib: int
    swap_mib: int


@dataclass(frozen=True, slots=True)
class DiskDevice:
    """A disk or, if `cdrom`, a read-only disc. `bus` and `target` as libvirt names them (virtio, vda).

    `boot_order`: the guest tries this one as its so-manieth; where none of its disks has one, it boots from the first.
    """

    path: Path
    disk_format: str
    bus: str
    target: str
    cdrom: bool = False
    boot_order: int = 0


@dataclass(frozen=True, slots=True)
class InterfaceDevice:
    """A network card. `network` is a libvirt network's name, `tap` an interface of the host that was made for it;
    both empty: the card has nobody to talk to (`_isolated`).

    Of a tap: `mtu` in bytes; without `has_offloads` the card fills in all checksums itself.
    `is_filtered`: it may send under its own MAC and IP address only. `is_isolated`: it reaches no other isolated card
    of its bridge.
    """

    mac: str
    model: str
    network: str = ""
    is_filtered: bool = False
    is_isolated: bool = False
    tap: str = ""
    mtu: int = 0
    has_offloads: bool = True


@dataclass(frozen=True, slots=True)
class BootPaths:
    """A kernel that the hypervisor starts in place of what the disk begins with, and its command line."""

    kernel: Path
    ramdisk: Path | None
    arguments: str


@dataclass(frozen=True, slots=True)
class GuestDefinition:
    """All that the domain XML says. `virt_type` is libvirt's domain type: kvm, qemu or test."""

    metadata_of_guest: GuestMetadata
    virt_type: str
    vcpus: int
    memory_mib: int
    arch: str = ""
    machine: str = ""
    cpu: GuestCpu | None = None
    disks: tuple[DiskDevice, ...] = ()
    interfaces: tuple[InterfaceDevice, ...] = ()
    serial_path: Path | None = None
    video_model: str = ""
    has_vnc: bool = False
    has_rng: bool = False
    tuning: GuestTuning = NO_TUNING
    options: GuestOptions = NO_OPTIONS
    boot_paths: BootPaths | None = None
    mediated: tuple[str, ...] = ()
    firmware: GuestFirmware | None = None
    volumes: tuple[VolumeDevice, ...] = ()
    pcie_ports: int = 0
    """Of a Q35: as many slots for devices, some of which stay free for those that come while it runs."""


def canonical_uuid(text: str) -> str:
    """The uuid in its usual spelling. Raises DriverError: paths are built from it, so nothing else may pass."""
    parsed = parse_uuid(text)
    if parsed is None:
        raise DriverError(f"{text[:80]!r} is not a uuid")
    return str(parsed)


def domain_name(guest_uuid: str) -> str:
    """The name of the domain of an instance, of `DOMAIN_NAME_LENGTH` characters."""
    return f"i-{uuid.UUID(guest_uuid).hex[:12]}"


def guest_metadata(guest: GuestSpec) -> GuestMetadata:
    """The mark that the domain of `guest` bears."""
    return GuestMetadata(
        uuid=canonical_uuid(guest.uuid),
        name=guest.name,
        project_id=guest.project_id,
        image_id=guest.image_id,
        root_gib=guest.root_gib,
        ephemeral_gib=guest.ephemeral_gib,
        swap_mib=guest.swap_mib,
    )


def guest_xml(definition: GuestDefinition) -> str:
    """The domain XML of a guest."""
    domain = ET.Element("domain", type=definition.virt_type)
    _text(domain, "name", domain_name(definition.metadata_of_guest.uuid))
    _text(domain, "uuid", definition.metadata_of_guest.uuid)
    ET.SubElement(domain, "metadata").append(metadata_element(definition.metadata_of_guest))
    _text(domain, "memory", str(definition.memory_mib), unit="MiB")
    add_memory_backing(domain, definition.tuning)
    _vcpu(domain, definition)
    add_cpu_tuning(domain, definition.tuning)
    add_numa_tuning(domain, definition.tuning)
    _os(domain, definition)
    features = ET.SubElement(domain, "features")
    for name in ("acpi", "apic"):
        ET.SubElement(features, name)
    is_kvm = definition.virt_type == "kvm"
    add_features(features, definition.options, is_kvm=is_kvm)
    add_management_mode(features, definition.firmware)
    add_cpu(domain, definition.cpu, definition.tuning, definition.options, is_kvm=is_kvm)
    add_clock(domain, definition.options)
    for event, reaction in (("poweroff", "destroy"), ("reboot", "restart"), ("crash", "destroy")):
        _text(domain, f"on_{event}", reaction)
    add_power_management(domain)
    _devices(domain, definition)
    _isolated(domain, definition)
    return ET.tostring(domain, encoding="unicode")


def metadata_element(metadata_of_guest: GuestMetadata) -> ET.Element:
    """The mark as an element of our namespace."""
    element = ET.Element(f"{{{METADATA_NAMESPACE}}}instance", uuid=metadata_of_guest.uuid)
    _text(element, f"{{{METADATA_NAMESPACE}}}name", metadata_of_guest.name)
    _text(element, f"{{{METADATA_NAMESPACE}}}project", metadata_of_guest.project_id)
    _text(element, f"{{{METADATA_NAMESPACE}}}image", metadata_of_guest.image_id)
    sizes = {
        "root_gib": str(metadata_of_guest.root_gib),
        "ephemeral_gib": str(metadata_of_guest.ephemeral_gib),
        "swap_mib": str(metadata_of_guest.swap_mib),
    }
    ET.SubElement(element, f"{{{METADATA_NAMESPACE}}}disk", sizes)
    return element


def metadata_parse(text: str) -> GuestMetadata:
    """The mark from what libvirt answers when asked for our namespace: the element, with or without namespaces."""
    element = ET.fromstring(text)  # noqa: S314 - libvirt's own output, no document from outside
    disk = element.find("{*}disk")
    sizes = {} if disk is None else disk.attrib
    return GuestMetadata(
        uuid=element.get("uuid", ""),
        name=element.findtext("{*}name", ""),
        project_id=element.findtext("{*}project", ""),
        image_id=element.findtext("{*}image", ""),
        root_gib=int(sizes.get("root_gib", "0")),
        ephemeral_gib=int(sizes.get("ephemeral_gib", "0")),
        swap_mib=int(sizes.get("swap_mib", "0")),
    )


def _text(parent: ET.Element, tag: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, tag, attributes).text = xml_text(text)


def _vcpu(domain: ET.Element, definition: GuestDefinition) -> None:
    vcpu = ET.SubElement(domain, "vcpu")
    vcpu.text = str(definition.vcpus)
    if definition.tuning.vcpu_set:
        vcpu.set("cpuset", format_cpus(definition.tuning.vcpu_set))


def _os(domain: ET.Element, definition: GuestDefinition) -> None:
    os_element = ET.SubElement(domain, "os")
    kind = ET.SubElement(os_element, "type")
    kind.text = "hvm"
    if definition.arch:
        kind.set("arch", definition.arch)
    if definition.machine:
        kind.set("machine", xml_text(definition.machine))
    add_firmware(os_element, definition.firmware)
    if definition.boot_paths is not None:
        _text(os_element, "kernel", str(definition.boot_paths.kernel))
        if definition.boot_paths.ramdisk is not None:
            _text(os_element, "initrd", str(definition.boot_paths.ramdisk))
        _text(os_element, "cmdline", definition.boot_paths.arguments)
    orders = [*(disk.boot_order for disk in definition.disks), *(each.boot_order for each in definition.volumes)]
    if not any(orders):
        ET.SubElement(os_element, "boot", dev="hd")
    if definition.options.has_boot_menu:
        ET.SubElement(os_element, "bootmenu", enable="yes")


def _devices(domain: ET.Element, definition: GuestDefinition) -> None:
    devices = ET.SubElement(domain, "devices")
    add_pcie_ports(devices, definition.pcie_ports)
    buses = {*(disk.bus for disk in definition.disks), *(device.volume.bus for device in definition.volumes)}
    add_scsi_controller(devices, definition.options, is_used="scsi" in buses)
    for disk in definition.disks:
        devices.append(_disk(disk, definition.options))
    devices.extend(volume_disk(device, definition.options) for device in definition.volumes)
    for interface in definition.interfaces:
        if interface.tap:
            devices.append(
                tap_interface(
                    mac=interface.mac,
                    model=interface.model,
                    tap=interface.tap,
                    mtu=interface.mtu,
                    has_offloads=interface.has_offloads,
                    options=definition.options,
                )
            )
        elif interface.network:
            devices.append(_interface(interface, definition.options))
    devices.extend(host_device(device) for device in definition.tuning.devices)
    devices.extend(mediated_device(device_uuid) for device_uuid in definition.mediated)
    if definition.serial_path is not None:
        # A terminal to type into, and a log of all that comes out. Appending keeps what was said before a restart, and
        # lets the log be cut while QEMU has it open.
        serial = ET.SubElement(devices, "serial", type="pty")
        ET.SubElement(serial, "log", file=str(definition.serial_path), append="on")
        ET.SubElement(serial, "target", port="0")
    if definition.has_vnc:
        # libvirt puts the socket into the domain's own directory, which only QEMU's user may enter.
        ET.SubElement(ET.SubElement(devices, "graphics", type="vnc"), "listen", type="socket")
    if definition.video_model:
        model = ET.SubElement(ET.SubElement(devices, "video"), "model", type=definition.video_model)
        if definition.options.video_ram_mib and definition.video_model != "none":
            model.set("vram", str(definition.options.video_ram_mib * KIB_PER_MIB))
    _balloon(devices, definition)
    _panic(devices, definition)
    if definition.has_rng and definition.options.has_rng:
        devices.append(rng_device(definition.options))
    add_devices(devices, definition.options)


def _balloon(devices: ET.Element, definition: GuestDefinition) -> None:
    """libvirt adds one anyway; asked for now and then, the guest says how much memory it does not use. A simulated
    guest, which has no disks, has none.
    """
    if definition.disks or definition.volumes:
        balloon = ET.SubElement(devices, "memballoon", model="virtio")
        ET.SubElement(balloon, "stats", period=str(BALLOON_PERIOD_S))


def _panic(devices: ET.Element, definition: GuestDefinition) -> None:
    """The port by which the system inside says that it crashed; `on_crash` then ends it. A PC has one at no cost."""
    has_disks = bool(definition.disks or definition.volumes)
    if has_disks and definition.arch in ("i686", "x86_64") and definition.machine.startswith(("pc", "q35")):
        ET.SubElement(devices, "panic", model="isa")


def _disk(disk: DiskDevice, options: GuestOptions) -> ET.Element:
    element = ET.Element("disk", type="file", device="cdrom" if disk.cdrom else "disk")
    driver = ET.SubElement(element, "driver", name="qemu", type=disk.disk_format)
    if not disk.cdrom:
        driver.set("discard", "unmap")
        if options.has_packed_virtqueues and disk.bus == "virtio":
            driver.set("packed", "on")
    ET.SubElement(element, "source", file=str(disk.path))
    add_target(element, disk.target, disk.bus, options)
    if disk.boot_order:
        ET.SubElement(element, "boot", order=str(disk.boot_order))
    if disk.cdrom:
        ET.SubElement(element, "readonly")
    else:
        add_disk_limits(element, options)
    return element


def _interface(interface: InterfaceDevice, options: GuestOptions) -> ET.Element:
    element = ET.Element("interface", type="network")
    ET.SubElement(element, "mac", address=interface.mac)
    ET.SubElement(element, "source", network=xml_text(interface.network))
    ET.SubElement(element, "model", type=interface.model)
    add_interface_options(element, interface.model, options)
    if interface.is_filtered:
        filtered = ET.SubElement(element, "filterref", filter=CLEAN_TRAFFIC)
        ET.SubElement(filtered, "parameter", name="MAC", value=interface.mac)
    if interface.is_isolated:
        ET.SubElement(element, "port", isolated="yes")
    # No boot from the network: neither the firmware's wait for it nor a stranger's boot server.
    ET.SubElement(element, "rom", enabled="no")
    return element


def _isolated(domain: ET.Element, definition: GuestDefinition) -> None:
    """Cards without a libvirt network, in a user-mode network each that answers DHCP and forwards nothing.

    libvirt's `<interface type='user'>` is such a network without `restrict`, and forwards 10.0.2.2 to the loopback of
    the hypervisor, where everything that trusts its own machine listens. Hence QEMU's own options.
    """
    cards = [interface for interface in definition.interfaces if not (interface.network or interface.tap)]
    if not cards:
        return
    bus = "pci.0" if definition.machine.startswith("pc") and "q35" not in definition.machine else "pcie.0"
    commandline = ET.SubElement(domain, f"{{{QEMU_NAMESPACE}}}commandline")
    for number, card in enumerate(cards):
        model, slot = _QEMU_CARDS.get(card.model, card.model), _ISOLATED_SLOT_LAST - number
        for argument in (
            "-netdev",
            f"user,id=isolated{number},restrict=on,ipv6=off",
            "-device",
            f"{model},netdev=isolated{number},mac={card.mac},bus={bus},addr={slot:#x},romfile=",
        ):
            ET.SubElement(commandline, f"{{{QEMU_NAMESPACE}}}arg", value=argument)
