"""The elements of a domain's XML that `GuestOptions` asks for. Made of typed values only."""

import xml.etree.ElementTree as ET

from computeagent.drivers.libvirt.guest_options import ISA_SERIAL_PORTS, GuestOptions
from computeagent.protocol.guest_disks import place_of_device

KIB_PER_MIB = 1024
RNG_SOURCE = "/dev/urandom"
_TARGETS_OF_ONE_UNIT = {"lsisas1068": 8, "vmpvscsi": 64}
"""SCSI controllers whose targets have one logical unit each, by QEMU: how many targets they have."""
_CD_ON_SCSI = "sdz"


def add_features(features: ET.Element, options: GuestOptions, *, is_kvm: bool) -> None:
    """Below `<features>`. Under emulation there is no PMU to switch, and the CPU hides the hypervisor (`cpu_xml`).

    An Intel IOMMU that maps interrupts needs its half of the interrupt controller in QEMU.
    """
    if options.has_pmu is not None and is_kvm:
        ET.SubElement(features, "pmu", state="on" if options.has_pmu else "off")
    if options.is_hypervisor_hidden and is_kvm:
        ET.SubElement(ET.SubElement(features, "kvm"), "hidden", state="on")
    if options.viommu_model == "intel":
        ET.SubElement(features, "ioapic", driver="qemu")


def add_clock(domain: ET.Element, options: GuestOptions) -> None:
    """`<clock>`, with the HPET timer where the image says whether there is one."""
    clock = ET.SubElement(domain, "clock", offset="utc")
    if options.has_hpet is not None:
        ET.SubElement(clock, "timer", name="hpet", present="yes" if options.has_hpet else "no")


def add_disk_limits(disk: ET.Element, options: GuestOptions) -> None:
    """`<iotune>` of one disk."""
    if options.disk_limits:
        iotune = ET.SubElement(disk, "iotune")
        for name, amount in options.disk_limits:
            ET.SubElement(iotune, name).text = str(amount)


def add_interface_options(interface: ET.Element, model: str, options: GuestOptions) -> None:
    """Queues and packed rings of a virtio card, and `<bandwidth>` of any."""
    driver = {
        **({"queues": str(options.vif_queues)} if options.vif_queues else {}),
        **({"packed": "on"} if options.has_packed_virtqueues else {}),
    }
    if driver and model == "virtio":
        ET.SubElement(interface, "driver", driver)
    if options.vif_limits:
        bandwidth = ET.SubElement(interface, "bandwidth")
        for direction, limits in options.vif_limits:
            ET.SubElement(bandwidth, direction, {name: str(amount) for name, amount in limits})


def add_devices(devices: ET.Element, options: GuestOptions) -> None:
    """Devices of which a guest has one or none. Serial ports beside the log lead nowhere."""
    for port in range(1, options.serial_ports):
        target = ET.SubElement(ET.SubElement(devices, "serial", type="null"), "target", port=str(port))
        if port >= ISA_SERIAL_PORTS:
            target.set("type", "pci-serial")
    if options.watchdog_action:
        ET.SubElement(devices, "watchdog", model="i6300esb", action=options.watchdog_action)
    if options.usb_model:
        ET.SubElement(devices, "controller", type="usb", model=options.usb_model)
    if options.sound_model:
        ET.SubElement(devices, "sound", model=options.sound_model)
    if options.input_bus:
        ET.SubElement(devices, "input", type="tablet", bus=options.input_bus)
    if options.has_guest_agent:
        channel = ET.SubElement(devices, "channel", type="unix")
        ET.SubElement(channel, "target", type="virtio", name="org.qemu.guest_agent.0")
    if options.tpm is not None:
        model, version = options.tpm
        ET.SubElement(ET.SubElement(devices, "tpm", model=model), "backend", type="emulator", version=version)
    if options.viommu_model:
        _viommu(devices, options.viommu_model)


def add_scsi_controller(devices: ET.Element, options: GuestOptions, *, is_used: bool) -> None:
    """The controller of disks on a SCSI bus: virtio-scsi unless the image names another."""
    if is_used or options.scsi_model:
        model = options.scsi_model or "virtio-scsi"
        ET.SubElement(devices, "controller", type="scsi", index="0", model=model)


def add_target(disk: ET.Element, name: str, bus: str, options: GuestOptions) -> None:
    """What the disk is called and, where libvirt would choose one that QEMU does not take, its place on the bus.

    libvirt counts disks on SCSI by logical units; of these controllers' targets each has one.
    """
    ET.SubElement(disk, "target", dev=name, bus=bus)
    targets = _TARGETS_OF_ONE_UNIT.get(options.scsi_model, 0) if bus == "scsi" else 0
    place = place_of_device(name)
    if name == _CD_ON_SCSI:  # the last one, which no other disk has
        place = min(place, targets - 1)
    if 0 <= place < targets:
        ET.SubElement(disk, "address", type="drive", controller="0", bus="0", target=str(place), unit="0")


def add_pcie_ports(devices: ET.Element, count: int) -> None:
    """The root and the ports of PCI Express: what is added to a guest that runs needs a port that is free."""
    if count:
        ET.SubElement(devices, "controller", type="pci", index="0", model="pcie-root")
        for index in range(1, count + 1):
            ET.SubElement(devices, "controller", type="pci", index=str(index), model="pcie-root-port")


def _viommu(devices: ET.Element, model: str) -> None:
    """Intel's maps interrupts and lets devices keep translations, as Nova has it; virtio's knows neither."""
    iommu = ET.SubElement(devices, "iommu", model=model)
    if model == "intel":
        ET.SubElement(iommu, "driver", intremap="on", caching_mode="on", iotlb="on")


def rng_device(options: GuestOptions) -> ET.Element:
    """`<rng>`, at the flavor's rate."""
    rng = ET.Element("rng", model="virtio")
    if options.rng_rate:
        amount, period = options.rng_rate
        ET.SubElement(rng, "rate", bytes=str(amount), period=str(period))
    ET.SubElement(rng, "backend", model="random").text = RNG_SOURCE
    return rng


def add_power_management(domain: ET.Element) -> None:
    """Neither S3 nor S4: a guest that sleeps when idle would be asleep for all whom it serves, and nobody wakes it."""
    power = ET.SubElement(domain, "pm")
    for sleep in ("suspend-to-mem", "suspend-to-disk"):
        ET.SubElement(power, sleep, enabled="no")
