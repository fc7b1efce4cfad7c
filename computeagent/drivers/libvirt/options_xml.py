"""The elements of a domain's XML that `GuestOptions` asks for. Made of typed values only."""

import xml.etree.ElementTree as ET

from computeagent.drivers.libvirt.guest_options import GuestOptions

KIB_PER_MIB = 1024
RNG_SOURCE = "/dev/urandom"


def add_features(features: ET.Element, options: GuestOptions, *, is_kvm: bool) -> None:
    """Below `<features>`. Under emulation there is no hypervisor's signature to hide, and no PMU to switch."""
    if options.has_pmu is not None and is_kvm:
        ET.SubElement(features, "pmu", state="on" if options.has_pmu else "off")
    if options.is_hypervisor_hidden and is_kvm:
        ET.SubElement(ET.SubElement(features, "kvm"), "hidden", state="on")


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
    """Queues of a virtio card, and `<bandwidth>` of any."""
    if options.vif_queues and model == "virtio":
        ET.SubElement(interface, "driver", queues=str(options.vif_queues))
    if options.vif_limits:
        bandwidth = ET.SubElement(interface, "bandwidth")
        for direction, limits in options.vif_limits:
            ET.SubElement(bandwidth, direction, {name: str(amount) for name, amount in limits})


def add_devices(devices: ET.Element, options: GuestOptions) -> None:
    """Devices of which a guest has one or none. Serial ports beside the log lead nowhere."""
    for port in range(1, options.serial_ports):
        ET.SubElement(ET.SubElement(devices, "serial", type="null"), "target", port=str(port))
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


def rng_device(options: GuestOptions) -> ET.Element:
    """`<rng>`, at the flavor's rate."""
    rng = ET.Element("rng", model="virtio")
    if options.rng_rate:
        amount, period = options.rng_rate
        ET.SubElement(rng, "rate", bytes=str(amount), period=str(period))
    ET.SubElement(rng, "backend", model="random").text = RNG_SOURCE
    return rng
