"""A guest of a real hypervisor, from what was asked for and what its host has for it. Pure: no libvirt, no file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from computeagent.drivers.libvirt.firmware import GuestFirmware
from computeagent.drivers.libvirt.guest_cpu import HostCpus, cpu_of_guest, traits_required
from computeagent.drivers.libvirt.guest_hardware import machine_type, video_model
from computeagent.drivers.libvirt.guest_options import GuestOptions
from computeagent.drivers.libvirt.guest_xml import (
    BootPaths,
    DiskDevice,
    GuestDefinition,
    InterfaceDevice,
    guest_metadata,
)
from computeagent.drivers.libvirt.local_disks import boot_orders
from computeagent.drivers.libvirt.volume_xml import volume_devices
from computeagent.protocol.guest_machine import is_q35
from computeagent.protocol.guests import GuestSpec

FREE_PCIE_PORTS = 12
OTHER_PCIE_DEVICES = 8
"""Controllers of USB, SCSI and serial channels, the balloon, random numbers, sound, input, watchdog."""


@dataclass(frozen=True, slots=True)
class HostParts:
    """What the host has ready for one guest."""

    virt_type: str
    arch: str
    cpus: HostCpus
    disks: tuple[DiskDevice, ...]
    interfaces: tuple[InterfaceDevice, ...]
    serial_path: Path
    options: GuestOptions
    firmware: GuestFirmware | None = None
    boot_paths: BootPaths | None = None
    mediated: tuple[str, ...] = ()
    volume_caches: Mapping[str, str] = field(default_factory=dict)


def guest_definition(guest: GuestSpec, parts: HostParts) -> GuestDefinition:
    """The guest with all its devices. Raises DriverError (USER) for what cannot be given, and (HOST) where no CPU model
    of the host has the traits that are required.
    """
    machine = machine_type(guest)
    volumes = volume_devices(
        guest.volumes,
        {disk.target for disk in parts.disks},
        boot_orders=boot_orders(guest),
        caches=parts.volume_caches,
    )
    return GuestDefinition(
        metadata_of_guest=guest_metadata(guest),
        virt_type=parts.virt_type,
        vcpus=guest.vcpus,
        memory_mib=guest.memory_mib,
        arch=parts.arch,
        machine=machine,
        cpu=cpu_of_guest(parts.cpus, traits_required(guest.extra_specs, guest.image_properties)),
        disks=parts.disks,
        interfaces=parts.interfaces,
        serial_path=parts.serial_path,
        video_model=video_model(guest),
        has_vnc=True,
        has_rng=True,
        options=parts.options,
        firmware=parts.firmware,
        boot_paths=parts.boot_paths,
        mediated=parts.mediated,
        volumes=volumes,
        pcie_ports=_pcie_ports(guest, parts) if is_q35(machine) else 0,
    )


def _pcie_ports(guest: GuestSpec, parts: HostParts) -> int:
    """One for each device that may need one, and as many again as may be added while the guest runs."""
    cards = sum(1 for card in parts.interfaces if card.tap or card.network)
    devices = len(guest.pci_devices) + len(parts.mediated)
    return len(parts.disks) + len(guest.volumes) + cards + devices + OTHER_PCIE_DEVICES + FREE_PCIE_PORTS
