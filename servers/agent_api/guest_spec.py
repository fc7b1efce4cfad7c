"""From an instance's row, and what it was given of its host, to what a driver needs to make the guest."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from os_resource_classes import VGPU

from computeagent.protocol.guest_config import BootFile, DirectBoot, GuestConfig
from computeagent.protocol.guests import GuestSpec, PortSpec, RescueImage
from computeagent.protocol.topology import CpuTopology
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Invalid, NotFound
from scheduling.domain.request.image_property_names import present_names, present_words
from scheduling.domain.request.resources import derive_resources
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import HwRequest
from scheduling.topology.domain.numa.cpu_rules import cpu_rules
from scheduling.topology.domain.numa.cpu_topology import best_cpu_topology
from scheduling.topology.domain.numa.memory_rules import locked_memory
from scheduling.topology.selectors.claims import PlacedTopology
from servers.conf import server_options
from servers.images.domain.images import ImageStatus
from servers.instances.domain.guest_config_rules import host_and_domain
from servers.models import Image, Instance
from servers.states import TaskState, VmState
from servers.volumes.selectors.guest_volumes import FLAVOR_DISKS, GuestDisks


@dataclass(frozen=True, slots=True)
class _Shape:
    """What flavor and image say of CPUs and memory, as GuestSpec has it."""

    cpu_topology: CpuTopology | None = None
    realtime_vcpus: str = ""
    has_locked_memory: bool = False
    vgpus: int = 0
    fault: str = ""


def guest_spec(
    instance: Instance,
    ports: Sequence[PortSpec],
    placed: PlacedTopology | None,
    *,
    disks: GuestDisks = FLAVOR_DISKS,
    asks_first_boot: bool = False,
) -> GuestSpec:
    """Everything about the guest; it was validated when it was asked for, and is hostile all the same.

    `asks_first_boot`: whoever makes its config drive has to ask for more.
    """
    image = instance.image
    properties = present_words(image.get("properties", {}))
    extra_specs = {key: str(value) for key, value in instance.flavor.get("extra_specs", {}).items()}
    shape = _shape(instance, extra_specs, properties)
    return GuestSpec(
        uuid=str(instance.pk),
        name=instance.name,
        project_id=str(instance.project_id),
        vcpus=instance.vcpus,
        memory_mib=instance.memory_mib,
        root_gib=instance.root_gib,
        ephemeral_gib=instance.ephemeral_gib,
        swap_mib=instance.swap_mib,
        image_id=str(instance.image_id or ""),
        image_checksum=image.get("checksum_sha256", ""),
        image_size_bytes=image.get("size_bytes", 0),
        image_disk_format=image.get("disk_format", "qcow2"),
        image_properties=properties,
        extra_specs=extra_specs,
        metadata={key: str(value) for key, value in instance.metadata.items()},
        user_data_base64=instance.user_data,
        key_name=instance.key_name,
        public_key=instance.public_key,
        availability_zone=instance.availability_zone,
        ports=tuple(ports),
        has_default_network=instance.has_default_network,
        numa_topology=None if placed is None else placed.numa,
        pci_devices=() if placed is None else placed.pci_devices,
        cpu_topology=shape.cpu_topology,
        realtime_vcpus=shape.realtime_vcpus,
        has_locked_memory=shape.has_locked_memory,
        vgpus=shape.vgpus,
        fault=shape.fault,
        launch_index=instance.launch_index,
        config=GuestConfig(
            has_drive=instance.config_drive,
            hostname=host_and_domain(instance.hostname, server_options().dhcp_domain),
            reservation_id=str(instance.reservation_id or ""),
            flavor_name=str(instance.flavor.get("name", "")),
            asks_first_boot=asks_first_boot,
        ),
        direct_boot=direct_boot(image),
        rescue=_rescue(instance),
        volumes=disks.volumes,
        has_local_root=disks.has_local_root,
        local_disks=disks.local_disks,
    )


def _rescue(instance: Instance) -> RescueImage | None:
    """What it boots from while it is rescued, or on its way there."""
    if instance.vm_state != VmState.RESCUED and instance.task_state != TaskState.RESCUING:
        return None
    image = instance.rescue_image
    return RescueImage(
        id=image.get("id", ""),
        checksum=image.get("checksum_sha256", ""),
        size_bytes=image.get("size_bytes", 0),
        disk_format=image.get("disk_format", "qcow2"),
        properties={key: str(value) for key, value in present_names(image.get("properties", {})).items()},
    )


def direct_boot(image: Mapping[str, Any]) -> DirectBoot | None:
    """The kernel that goes with an instance's image, from the snapshot of it."""
    kernel, ramdisk = _boot_file(image.get("kernel")), _boot_file(image.get("ramdisk"))
    if kernel is None:
        return None
    arguments = present_words(image.get("properties", {})).get("os_command_line", "")
    return DirectBoot(kernel, ramdisk, arguments)


def image_of_guest(instance: Instance, named: str) -> uuid.UUID | None:
    """The image of this id, if it is one by which the guest boots; None for any other."""
    boots = direct_boot(instance.image)
    files = () if boots is None else (boots.kernel, boots.ramdisk)
    return next((uuid.UUID(named) for file in files if file is not None and file.image_id == named), None)


def _boot_file(snapshot: Mapping[str, Any] | None) -> BootFile | None:
    if not snapshot:
        return None
    return BootFile(snapshot["id"], snapshot["checksum_sha256"], snapshot["size_bytes"])


def guest_of_shelved_image(guest: GuestSpec, instance: Instance) -> GuestSpec:
    """The same guest, its root disk made of the image that the instance is kept in, unless it boots from a volume.
    Raises NotFound.
    """
    if not guest.has_local_root:
        return guest
    rows, shelved_image_id = Image.objects.exclude(status=ImageStatus.DELETED), instance.shelved_image_id
    if shelved_image_id is None or (image := rows.filter(pk=shelved_image_id).first()) is None:
        raise NotFound("The image that the instance is kept in is not there.")
    return replace(
        guest,
        image_id=str(image.pk),
        image_checksum=image.checksum_sha256,
        image_size_bytes=image.size_bytes,
        image_disk_format=image.disk_format,
    )


def _shape(instance: Instance, extra_specs: dict[str, str], properties: dict[str, str]) -> _Shape:
    """Never raises: one instance that contradicts itself must not keep an agent from all the others."""
    flavor = FlavorSnapshot(
        id="", name="", vcpus=instance.vcpus, memory_mib=instance.memory_mib, extra_specs=extra_specs
    )
    image = ImageSnapshot(properties=properties)
    hw_request = HwRequest(flavor, image)
    try:
        return _Shape(
            cpu_topology=best_cpu_topology(flavor, image),
            realtime_vcpus=format_cpus(cpu_rules(hw_request).realtime),
            has_locked_memory=locked_memory(hw_request),
            vgpus=_vgpus(flavor, image),
        )
    except Invalid as error:
        return _Shape(fault=error.message)


def _vgpus(flavor: FlavorSnapshot, image: ImageSnapshot) -> int:
    """How many were claimed of Placement with this flavor. Few ask, and the sum is dear for a host full of guests."""
    if not any(key.endswith(f":{VGPU}") for key in flavor.extra_specs):
        return 0
    return derive_resources(flavor, image).amounts.get(VGPU, 0)
