"""Guests that together use every part of a definition, as a host would define them.

`python -m tests.units.computeagent.drivers.guest_samples` writes the golden files anew; read the difference.
"""

import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace
from pathlib import Path

from computeagent.drivers.cpu_options import CpuFlag, CpuMode
from computeagent.drivers.libvirt.firmware import Firmware, GuestFirmware, firmware_choose
from computeagent.drivers.libvirt.guest_cpu import CpuModel, HostCpus
from computeagent.drivers.libvirt.guest_definition import HostParts, guest_definition
from computeagent.drivers.libvirt.guest_hardware import machine_type, ports_of, vif_model
from computeagent.drivers.libvirt.guest_options import guest_options
from computeagent.drivers.libvirt.guest_tuning import HostView, guest_tuning
from computeagent.drivers.libvirt.guest_xml import InterfaceDevice, guest_xml
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.drivers.libvirt.mediated_devices import device_uuids
from computeagent.protocol.guest_machine import has_uefi, is_stateless, secure_boot
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.pci import DeviceType, GivenDevice, PciDeviceRecord
from computeagent.protocol.topology import CpuTopology, NUMACell, NUMAPages
from computeagent.protocol.topology_json import guest_from_dict
from computeagent.protocol.volumes import (
    DiskSource,
    GuestVolume,
    LocalDisk,
    LocalDiskKind,
    PoolKind,
    VolumeQos,
    VolumeSpec,
)

GOLDEN = Path(__file__).resolve().parents[3] / "fixtures" / "guest_xml"
STATE = "/var/lib/kilonova"
FIRMWARES = (
    Firmware(Path("/ovmf/CODE.secure.fd"), Path("/ovmf/VARS.keys.fd"), "x86_64", ("pc-q35-*",), True, True),
    Firmware(Path("/ovmf/CODE.fd"), Path("/ovmf/VARS.fd"), "x86_64", ("pc-*",)),
)
PAGES = (NUMAPages(4, 262144), NUMAPages(2048, 512))
HOST = HostView(
    cells=(
        NUMACell(0, frozenset({0, 1}), frozenset({2, 3}), 4096, socket=0, mempages=PAGES),
        NUMACell(1, frozenset({4, 5}), frozenset({6, 7}), 4096, socket=1, mempages=PAGES),
    ),
    shared_set=frozenset({0, 1, 4, 5}),
    pci_devices=(PciDeviceRecord("0000:0a:00.0", "10de", "1db6", DeviceType.STANDARD),),
)
PLAIN = GuestSpec(
    uuid="f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
    name='web-1 <&> "quoted"',
    project_id="0b1ff6b1-6d7c-4f0c-9d3a-0c9d2c5f4a11",
    vcpus=2,
    memory_mib=512,
    root_gib=10,
    ephemeral_gib=2,
    swap_mib=64,
    image_id="3b241101-e2bb-4255-8caf-4136c566a962",
    image_checksum="",
    image_size_bytes=0,
    image_disk_format="qcow2",
    ports=(PortSpec(mac="52:54:00:00:00:01", network="default"), PortSpec(mac="52:54:00:00:00:02", network="")),
)
TWO_CELLS = guest_from_dict(
    {
        "cells": [
            {"id": 0, "cpuset": "0", "pcpuset": "1", "memory_mib": 256, "host_cell": 1, "pinning": [[1, 6]],
             "page_size": 2048},
            {"id": 1, "cpuset": "", "pcpuset": "2-3", "memory_mib": 256, "host_cell": 0, "pinning": [[2, 2], [3, 3]],
             "page_size": 2048},
        ],
        "emulator_threads": "share",
    }
)  # fmt: skip


def volume_of(number: int, source: DiskSource, **changes: object) -> GuestVolume:
    """A volume by its number, which this host has connected."""
    volume = VolumeSpec(f"00000000-0000-0000-0000-00000000000{number}", "p", source.kind, 1)
    made = GuestVolume(f"00000000-0000-0000-0000-0000000000a{number}", volume, source=source)
    return replace(made, **changes)


VOLUMES = (
    volume_of(
        1,
        DiskSource(PoolKind.FILE, "qcow2", path="/volumes/<1>"),
        device="vdd",
        qos=VolumeQos(total_iops=500, read_bytes=1000, write_bytes=2000),
    ),
    volume_of(
        2,
        DiskSource(PoolKind.NBD, host="10.0.0.5", port=10809, export="volume-2", passphrase="open sesame"),
        device="sda",
        bus="scsi",
        is_read_only=True,
    ),
    volume_of(
        3,
        DiskSource(
            PoolKind.RBD,
            image="volumes/volume-3",
            monitors=("10.0.0.1:6789", "[2001:db8::1]:6789", "monitor"),
            user="kilonova",
            user_key="c2VjcmV0",
        ),
        is_shared=True,
    ),
)


FLAGS = (CpuFlag("pcid"), CpuFlag("vmx", is_on=False))
MODELS = (CpuModel("Nehalem", frozenset({"sse4.2"})), CpuModel("Haswell-noTSX", frozenset({"sse4.2", "avx2"})))


@dataclass(frozen=True)
class Sample:
    """A guest and the kind of host that defines it."""

    guest: GuestSpec
    virt_type: str = "kvm"
    host: HostView = field(default_factory=HostView)
    cpus: HostCpus | None = None
    """None: those of a host whose operator said nothing of them."""


SAMPLES = {
    "emulated": Sample(PLAIN, "qemu"),
    "options": Sample(
        replace(
            PLAIN,
            extra_specs={
                "quota:disk_read_bytes_sec": "1048576",
                "quota:disk_write_iops_sec": "100",
                "quota:vif_inbound_average": "1000",
                "quota:vif_inbound_peak": "2000",
                "quota:vif_outbound_average": "500",
                "quota:cpu_shares": "2048",
                "quota:cpu_period": "100000",
                "quota:cpu_quota": "50000",
                "hw:watchdog_action": "reset",
                "hw:boot_menu": "yes",
                "hw:pmu": "no",
                "hw:hide_hypervisor_id": "yes",
                "hw:vif_multiqueue_enabled": "yes",
                "hw:virtio_packed_ring": "yes",
                "hw:serial_port_count": "6",
                "hw:sound_model": "ich9",
                "hw:usb_model": "qemu-xhci",
                "hw:maxphysaddr_mode": "emulate",
                "hw:maxphysaddr_bits": "42",
                "hw_rng:rate_bytes": "2048",
                "hw_video:ram_max_mb": "64",
            },
            image_properties={
                "hw_video_model": "virtio",
                "hw_video_ram": "32",
                "hw_time_hpet": "no",
                "hw_input_bus": "virtio",
                "hw_qemu_guest_agent": "yes",
            },
        )
    ),
    "scsi": Sample(
        replace(
            PLAIN,
            image_properties={
                "hw_disk_bus": "scsi",
                "hw_cdrom_bus": "scsi",
                "hw_scsi_model": "vmpvscsi",
                "hw_vif_model": "vmxnet3",
                "hw_video_model": "vmvga",
                "hw_pointer_model": "usbtablet",
            },
        ),
        "qemu",
    ),
    "secure": Sample(
        replace(
            PLAIN,
            extra_specs={
                "os:secure_boot": "required",
                "hw:tpm_version": "2.0",
                "hw:tpm_model": "tpm-crb",
                "hw:viommu_model": "intel",
                "hw:maxphysaddr_mode": "passthrough",
            },
            image_properties={"hw_firmware_type": "uefi", "hw_cdrom_bus": "usb"},
        )
    ),
    "stateless": Sample(
        replace(PLAIN, image_properties={"hw_firmware_type": "uefi", "hw_firmware_stateless": "yes"}), "qemu"
    ),
    "uefi": Sample(replace(PLAIN, image_properties={"hw_firmware_type": "uefi", "hw_viommu_model": "virtio"}), "qemu"),
    "taps": Sample(
        replace(
            PLAIN,
            extra_specs={"quota:vif_inbound_average": "1000"},
            ports=(
                PortSpec(mac="fa:16:3e:00:00:01", network="n", tap="tp0123456789ab", mtu=1450),
                PortSpec(mac="fa:16:3e:00:00:02", network="n", tap="tpba9876543210", mtu=1442, has_offloads=False),
            ),
        ),
        "qemu",
    ),
    "volumes": Sample(replace(PLAIN, volumes=VOLUMES), "qemu"),
    "boot_from_volume": Sample(
        replace(
            PLAIN,
            has_local_root=False,
            image_properties={"hw_machine_type": "q35"},
            local_disks=(
                LocalDisk(LocalDiskKind.EPHEMERAL, 1024, device="vdb"),
                LocalDisk(LocalDiskKind.EPHEMERAL, 2048, bus="scsi", disk_format="xfs"),
                LocalDisk(LocalDiskKind.SWAP, 64, boot_index=2),
            ),
            volumes=(
                replace(VOLUMES[2], device="vda", boot_index=0, is_shared=False),
                replace(VOLUMES[0], device="vdb", boot_index=1),
            ),
        ),
        "qemu",
    ),
    "placed": Sample(
        replace(
            PLAIN,
            vcpus=4,
            numa_topology=TWO_CELLS,
            cpu_topology=CpuTopology(2, 2, 1),
            realtime_vcpus="2-3",
            has_locked_memory=True,
            pci_devices=(GivenDevice("0000:0a:00.0", "gpu"),),
            vgpus=2,
        ),
        host=HOST,
    ),
    "cpu_custom": Sample(
        replace(
            PLAIN,
            vcpus=4,
            numa_topology=TWO_CELLS,
            cpu_topology=CpuTopology(2, 2, 1),
            extra_specs={
                "hw:maxphysaddr_mode": "emulate",
                "hw:maxphysaddr_bits": "42",
                "trait:HW_CPU_X86_AVX2": "required",
            },
        ),
        host=HOST,
        cpus=HostCpus(CpuMode.CUSTOM, models=MODELS, flags=FLAGS),
    ),
    "cpu_custom_emulated": Sample(
        replace(PLAIN, extra_specs={"hw:hide_hypervisor_id": "yes"}),
        "qemu",
        cpus=HostCpus(CpuMode.CUSTOM, models=MODELS[:1], is_emulated=True),
    ),
    "cpu_host_model": Sample(PLAIN, cpus=HostCpus(CpuMode.HOST_MODEL, flags=FLAGS)),
}


def sample_xml(sample: Sample, state_dir: Path) -> str:
    """The domain that this host would define, its files below `state_dir`, where it has a config drive."""
    guest, files = sample.guest, InstanceFiles(state_dir)
    files.directory(guest.uuid).mkdir(parents=True, exist_ok=True)
    (files.directory(guest.uuid) / "config.iso").touch()
    model = vif_model(guest)
    interfaces = [
        InterfaceDevice(port.mac, model, tap=port.tap, mtu=port.mtu, has_offloads=port.has_offloads)
        if port.tap
        else InterfaceDevice(port.mac, model, port.network, bool(port.network), bool(port.network))
        for port in ports_of(guest)
    ]
    parts = HostParts(
        virt_type=sample.virt_type,
        arch="x86_64",
        cpus=sample.cpus or _cpus_by_default(sample.virt_type),
        disks=files.devices(guest),
        interfaces=tuple(interfaces),
        serial_path=files.console_path(guest.uuid),
        options=guest_options(guest),
        firmware=_firmware(guest, files),
        boot_paths=files.boot_paths(guest),
        mediated=device_uuids(guest.uuid, guest.vgpus),
    )
    definition = replace(guest_definition(guest, parts), tuning=guest_tuning(guest, sample.host))
    return guest_xml(definition)


def golden_text(sample: Sample) -> str:
    """The same, for people to read, with its files in the usual place."""
    with tempfile.TemporaryDirectory() as directory:
        text = sample_xml(sample, Path(directory)).replace(directory, STATE)
    element = ET.fromstring(text)  # noqa: S314 - what we have just made
    ET.indent(element)
    return ET.tostring(element, encoding="unicode") + "\n"


def _cpus_by_default(virt_type: str) -> HostCpus:
    is_emulated = virt_type != "kvm"
    return HostCpus(CpuMode.MAXIMUM if is_emulated else CpuMode.HOST_PASSTHROUGH, is_emulated=is_emulated)


def _firmware(guest: GuestSpec, files: InstanceFiles) -> GuestFirmware | None:
    properties = guest.image_properties
    if not has_uefi(properties):
        return None
    return firmware_choose(
        FIRMWARES,
        arch="x86_64",
        machine=machine_type(guest),
        is_secure=secure_boot(guest.extra_specs, properties) == "required",
        variables=None if is_stateless(properties) else files.variables_path(guest.uuid),
    )


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, sample in SAMPLES.items():
        (GOLDEN / f"{name}.xml").write_text(golden_text(sample))
