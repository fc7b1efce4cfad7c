"""The elements of a domain's XML that say where its CPUs, memory and host devices are. Made of typed values only."""

import xml.etree.ElementTree as ET

from computeagent.drivers.libvirt.guest_tuning import REALTIME_PRIORITY, GuestTuning, HostDevice
from controlplane.kernel.cpu_list import format_cpus

KIB_PER_MIB = 1024


def add_memory_backing(domain: ET.Element, tuning: GuestTuning) -> None:
    """`<memoryBacking>`: huge pages by guest cell, locked memory, and no merging of pages of real-time guests."""
    if not (tuning.has_huge_pages or tuning.is_locked):
        return
    backing = ET.SubElement(domain, "memoryBacking")
    if tuning.has_huge_pages:
        pages = ET.SubElement(backing, "hugepages")
        for cell in tuning.cells:
            if cell.page_kib:
                ET.SubElement(pages, "page", size=str(cell.page_kib), unit="KiB", nodeset=str(cell.id))
    if tuning.realtime_vcpus:
        ET.SubElement(backing, "nosharepages")
    if tuning.is_locked:
        ET.SubElement(backing, "locked")


def add_cpu_tuning(domain: ET.Element, tuning: GuestTuning) -> None:
    """`<cputune>`: quotas, pins of vCPUs and of emulator threads, real-time scheduling."""
    if not (tuning.quotas or tuning.vcpu_pins):
        return
    cputune = ET.SubElement(domain, "cputune")
    for name, amount in tuning.quotas:
        ET.SubElement(cputune, name).text = str(amount)
    for vcpu, cpus in tuning.vcpu_pins:
        ET.SubElement(cputune, "vcpupin", vcpu=str(vcpu), cpuset=format_cpus(cpus))
    if tuning.emulator_cpus:
        ET.SubElement(cputune, "emulatorpin", cpuset=format_cpus(tuning.emulator_cpus))
    if tuning.realtime_vcpus:
        vcpus, priority = format_cpus(tuning.realtime_vcpus), str(REALTIME_PRIORITY)
        ET.SubElement(cputune, "vcpusched", vcpus=vcpus, scheduler="fifo", priority=priority)


def add_numa_tuning(domain: ET.Element, tuning: GuestTuning) -> None:
    """`<numatune>`: memory of each guest cell strictly from its host cell."""
    if not tuning.cells:
        return
    numatune = ET.SubElement(domain, "numatune")
    nodes = format_cpus(cell.host_cell for cell in tuning.cells)
    ET.SubElement(numatune, "memory", mode="strict", nodeset=nodes)
    for cell in tuning.cells:
        ET.SubElement(numatune, "memnode", cellid=str(cell.id), mode="strict", nodeset=str(cell.host_cell))


def add_cpu_shape(cpu: ET.Element, tuning: GuestTuning) -> None:
    """Below `<cpu>`: sockets, cores and threads, and the cells that the guest sees."""
    if tuning.cpu_topology is not None:
        sockets, cores, threads = map(str, tuning.cpu_topology.parts)
        ET.SubElement(cpu, "topology", sockets=sockets, cores=cores, threads=threads)
    if not tuning.cells:
        return
    numa = ET.SubElement(cpu, "numa")
    for cell in tuning.cells:
        element = ET.SubElement(numa, "cell", id=str(cell.id), cpus=format_cpus(cell.vcpus))
        element.set("memory", str(cell.memory_mib * KIB_PER_MIB))
        element.set("unit", "KiB")
        if tuning.has_huge_pages:
            # So that another process may serve the guest's network cards from its memory; cannot be changed later.
            element.set("memAccess", "shared")


def host_device(device: HostDevice) -> ET.Element:
    """`<hostdev>` of a PCI device; `<interface>` of one that is a port's, so that it has the port's MAC address."""
    managed = "yes" if device.is_managed else "no"
    if device.devname:
        element = ET.Element("interface", type="direct")
        ET.SubElement(element, "mac", address=device.mac)
        ET.SubElement(element, "source", dev=device.devname, mode="passthrough")
        ET.SubElement(element, "model", type="virtio")
        return element
    if device.mac:
        element = ET.Element("interface", type="hostdev", managed=managed)
        ET.SubElement(element, "mac", address=device.mac)
    else:
        element = ET.Element("hostdev", mode="subsystem", type="pci", managed=managed)
    source = ET.SubElement(element, "source")
    place = {"domain": device.domain, "bus": device.bus, "slot": device.slot, "function": device.function}
    if device.mac:
        place = {"type": "pci", **place}
    ET.SubElement(source, "address", place)
    return element


def mediated_device(device_uuid: str) -> ET.Element:
    """`<hostdev>` of a mediated device."""
    element = ET.Element("hostdev", mode="subsystem", type="mdev", managed="no", model="vfio-pci")
    ET.SubElement(ET.SubElement(element, "source"), "address", uuid=device_uuid)
    return element
