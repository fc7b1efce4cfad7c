"""The disks of guests as their hosts are told of them: volumes, and what is on the host itself."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from computeagent.protocol.guest_disks import known_disk_bus_of
from computeagent.protocol.volumes import (
    NO_QOS,
    GuestVolume,
    LocalDisk,
    LocalDiskKind,
    PoolKind,
    VolumeQos,
    VolumeSource,
    VolumeSourceKind,
    VolumeSpec,
)
from controlplane.kernel.errors import NotFound
from scheduling.domain.request.image_property_names import present_names
from servers.models import BlockDeviceMapping, Instance, Volume, VolumeAttachment
from servers.volumes.domain.block_devices import DestinationType
from servers.volumes.selectors.volume_specs import volume_source, volume_spec

MIB_PER_GIB = 1024
SWAP = "swap"


@dataclass(frozen=True, slots=True)
class GuestDisks:
    """As `GuestSpec` has them."""

    volumes: tuple[GuestVolume, ...] = ()
    has_local_root: bool = True
    local_disks: tuple[LocalDisk, ...] | None = None


FLAVOR_DISKS = GuestDisks()
"""Of an instance whose disks nobody named one by one."""


def guest_disks(instances: Collection[Instance]) -> Mapping[uuid.UUID, GuestDisks]:
    """By instance. Two queries for all that have any row of a disk, and one more for each volume that its build is yet
    to make; none where no instance has such a row, which the instance itself says.
    """
    ids = [instance.pk for instance in instances if instance.has_block_devices]
    if not ids:
        return {}
    mappings: dict[uuid.UUID, list[BlockDeviceMapping]] = defaultdict(list)
    for mapping in BlockDeviceMapping.objects.filter(instance_uuid__in=ids).order_by("position", "created_at", "id"):
        mappings[mapping.instance_uuid].append(mapping)
    rows = VolumeAttachment.objects.filter(instance_uuid__in=ids).select_related("volume", "volume__pool")
    attachments: dict[uuid.UUID, dict[uuid.UUID, VolumeAttachment]] = defaultdict(dict)
    for row in rows:
        attachments[row.instance_uuid][row.volume_id] = row
    return {
        instance.pk: _disks(instance, mappings[instance.pk], attachments[instance.pk])
        for instance in instances
        if instance.has_block_devices and mappings[instance.pk]
    }


def guest_volumes(instance_uuid: uuid.UUID) -> tuple[GuestVolume, ...]:
    """The volumes of one instance, in the order of its disks."""
    instance = Instance.objects.filter(pk=instance_uuid).first()
    return () if instance is None else guest_disks([instance]).get(instance.pk, FLAVOR_DISKS).volumes


def disk_bus_of_instance(instance: Instance) -> str:
    """The bus of disks that name none: as its image says, where we know that bus."""
    known = present_names(instance.image.get("properties", {}))
    return known_disk_bus_of({key: str(value) for key, value in known.items()})


def volume_qos(limits: Mapping[str, Any]) -> VolumeQos:
    """The limits of a volume, as hosts are told of them."""
    known = {name: int(amount) for name, amount in limits.items() if name in VolumeQos.__slots__}
    return VolumeQos(**known) if known else NO_QOS


def _disks(
    instance: Instance,
    mappings: Sequence[BlockDeviceMapping],
    attachments: Mapping[uuid.UUID, VolumeAttachment],
) -> GuestDisks:
    bus = disk_bus_of_instance(instance)
    local = [one for one in mappings if one.destination_type == DestinationType.LOCAL]
    return GuestDisks(
        volumes=tuple(
            _guest_volume(one, attachments[one.volume_id], bus)
            for one in mappings
            if one.volume_id is not None and one.volume_id in attachments
        ),
        has_local_root=any(one.boot_index == 0 for one in local),
        local_disks=tuple(_local_disk(one) for one in local if one.boot_index != 0),
    )


def _local_disk(mapping: BlockDeviceMapping) -> LocalDisk:
    is_swap = mapping.guest_format == SWAP
    return LocalDisk(
        kind=LocalDiskKind.SWAP if is_swap else LocalDiskKind.EPHEMERAL,
        size_mib=mapping.size_mib if is_swap else mapping.size_gib * MIB_PER_GIB,
        device=mapping.device,
        bus=mapping.disk_bus,
        tag=mapping.tag,
        boot_index=mapping.boot_index,
        disk_format="" if is_swap else mapping.guest_format,
    )


def _guest_volume(
    mapping: BlockDeviceMapping,
    attachment: VolumeAttachment,
    bus: str,
) -> GuestVolume:
    volume = attachment.volume
    is_made_by_build = volume.instance_uuid == mapping.instance_uuid
    return GuestVolume(
        attachment_id=str(attachment.pk),
        volume=_spec(volume),
        device=mapping.device,
        bus=mapping.disk_bus or bus,
        device_type=mapping.device_type or "disk",
        boot_index=mapping.boot_index,
        tag=mapping.tag,
        is_read_only=attachment.is_read_only,
        is_shared=attachment.is_shared,
        qos=volume_qos(volume.qos),
        make=_source(volume) if is_made_by_build else None,
    )


def _spec(volume: Volume) -> VolumeSpec:
    """One without a pool, which its host refuses, keeps nobody from hearing of the other guests."""
    if volume.pool is None:
        return VolumeSpec(str(volume.pk), "", PoolKind.FILE, volume.size_gib)
    return volume_spec(volume)


def _source(volume: Volume) -> VolumeSource:
    """What the build makes the volume of; of what is gone the name alone, which the build stumbles over."""
    try:
        return volume_source(volume)
    except NotFound:
        return VolumeSource(VolumeSourceKind(volume.source_kind), id=str(volume.source_id or ""))
