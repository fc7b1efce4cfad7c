"""The disks of instances that were named one by one, as their owners see them."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from controlplane.infra.among import uuids_value
from controlplane.infra.prepared import PreparedQuery
from servers.models import BlockDeviceMapping, Instance, RequestSpec, Volume, VolumeAttachment
from servers.volumes.domain.block_devices import SWAP, BlockDevice

_SPECS = PreparedQuery(
    "request_specs_of", lambda ids: RequestSpec.objects.filter(instance_uuid__among=ids), types=["uuid[]"]
)


@dataclass(frozen=True, slots=True)
class InstanceDisk:
    """One disk. `volume_id` None: it is on the instance's host, or its volume is not made yet. `state` is that of the
    attachment; empty for disks of the host.
    """

    source_type: str
    destination_type: str
    source_id: uuid.UUID | None
    volume_id: uuid.UUID | None
    volume_name: str
    device: str
    device_type: str
    disk_bus: str
    guest_format: str
    boot_index: int
    size_gib: int
    size_mib: int
    delete_on_termination: bool
    tag: str
    state: str = ""
    problem: str = ""
    attachment_id: uuid.UUID | None = None
    is_read_only: bool = False
    is_shared: bool = False
    attached_at: datetime | None = None
    mapping_id: uuid.UUID | None = None

    @property
    def is_root(self) -> bool:
        """Whether the instance boots from it first."""
        return self.boot_index == 0

    @property
    def is_local(self) -> bool:
        """Whether it is in its host's own storage."""
        return self.destination_type == "local"

    @property
    def is_swap(self) -> bool:
        """Whether it is a swap disk."""
        return self.is_local and self.guest_format == SWAP


def instance_disks(instances: Collection[Instance]) -> Mapping[uuid.UUID, Sequence[InstanceDisk]]:
    """In the order of the request. Three queries for all that have such disks, and one for those that have no row yet;
    none where no instance has any.
    """
    ids = [instance.pk for instance in instances if instance.has_block_devices]
    found: dict[uuid.UUID, list[InstanceDisk]] = defaultdict(list)
    if ids:
        rows = list(BlockDeviceMapping.objects.filter(instance_uuid__in=ids).order_by("position", "created_at", "id"))
        volumes = Volume.objects.in_bulk([row.volume_id for row in rows if row.volume_id])
        attachments = {(one.instance_uuid, one.volume_id): one for one in _attachments(ids)}
        for row in rows:
            volume = volumes.get(row.volume_id) if row.volume_id else None
            attachment = attachments.get((row.instance_uuid, row.volume_id)) if row.volume_id else None
            found[row.instance_uuid].append(_disk(row, volume, attachment))
    pending = [instance.pk for instance in instances if instance.is_pending]
    for spec in _SPECS.run([uuids_value(pending)]) if pending else ():
        found[spec.instance_uuid] += [_disk(one, None, None) for one in spec.typed_body.block_devices or ()]
    return found


def instance_volumes(instance: Instance) -> tuple[InstanceDisk, ...]:
    """Its disks that are volumes which it has or is promised. Three queries; none where no disks were named."""
    return tuple(one for one in instance_disks([instance]).get(instance.pk, ()) if one.attachment_id is not None)


def volume_mappings(volume_id: uuid.UUID) -> dict[uuid.UUID, BlockDeviceMapping]:
    """How each instance that has the volume has it, by instance. One query."""
    return {row.instance_uuid: row for row in BlockDeviceMapping.objects.filter(volume_id=volume_id)}


def _attachments(ids: Sequence[uuid.UUID]) -> list[VolumeAttachment]:
    return list(VolumeAttachment.objects.filter(instance_uuid__in=ids))


def _disk(
    row: BlockDeviceMapping | BlockDevice, volume: Volume | None, attachment: VolumeAttachment | None
) -> InstanceDisk:
    return InstanceDisk(
        source_type=str(row.source_type),
        destination_type=str(row.destination_type),
        source_id=row.source_id,
        volume_id=volume.pk if volume else None,
        volume_name=volume.name if volume else "",
        device=row.device,
        device_type=row.device_type or "disk",
        disk_bus=row.disk_bus,
        guest_format=row.guest_format,
        boot_index=row.boot_index,
        # A volume may have grown since.
        size_gib=volume.size_gib if volume else row.size_gib,
        size_mib=row.size_mib,
        delete_on_termination=row.delete_on_termination,
        tag=row.tag,
        state=attachment.state if attachment else "",
        problem=attachment.problem if attachment else "",
        attachment_id=attachment.pk if attachment else None,
        is_read_only=attachment is not None and attachment.is_read_only,
        is_shared=attachment is not None and attachment.is_shared,
        attached_at=attachment.attached_at if attachment else None,
        mapping_id=row.pk if isinstance(row, BlockDeviceMapping) else None,
    )
