"""The image of an instance that boots from a volume, as in Nova: it has no bytes of its own and names a snapshot of
each of its volumes, of which new instances get volumes of their own.

Image and snapshots are written in one transaction; hosts make the snapshots, and the end of the last of them makes the
image active (`servers.volumes.services.snapshot_images`). Each volume has the bytes of a moment of its own.
"""

from collections.abc import Mapping
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.images.domain.image_disks import WRITTEN_DISKS, WRITTEN_FORM, WRITTEN_ROOT, disks_text
from servers.images.services.snapshot_images import SnapshotOf, snapshot_image_create
from servers.instances.actions.rule import ActionRule
from servers.instances.services.host_action import row_locked
from servers.instances.services.journal import action_close, action_open
from servers.instances.services.notifications import emit_action_at_once
from servers.models import BlockDeviceMapping, Image, Instance, Volume, VolumeSnapshot
from servers.volumes.domain.block_devices import ROOT
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create

SNAPSHOT_NAME = "snapshot for {name}"


def volumes_snapshot(instance: Instance, rule: ActionRule, caller: Caller, *, name: str) -> Image:
    """A snapshot of each volume of the instance, and the image that names them, `queued` until all are there.

    In the caller's transaction. Raises InvalidFields, QuotaExceeded, Conflict; InvalidVolume, PoolCannot, NoCapacity
    and PoolUnreachable of the first volume of which none can be made: then there is none of the others either.
    """
    row = row_locked(instance, rule, caller)
    mappings = list(BlockDeviceMapping.objects.filter(instance_uuid=row.pk).order_by("position"))
    volumes = Volume.objects.select_related("volume_type").in_bulk([one.volume_id for one in mappings if one.volume_id])
    of = SnapshotOf(row.pk, row.project_id, caller.user_id, row.image, None, root_gib=0)
    image = snapshot_image_create(name=name, of=of, is_of_volumes=True)
    disks = []
    for mapping in mappings:
        if mapping.volume_id is None:
            disks.append(_disk(mapping))
            continue
        request = SnapshotRequest(mapping.volume_id, name=SNAPSHOT_NAME.format(name=name)[:255])
        snapshot = snapshot_create(caller=caller, request=request)
        VolumeSnapshot.objects.filter(pk=snapshot.pk).update(image_id=image.pk)
        disks.append(_of_volume(mapping, volumes[mapping.volume_id], snapshot))
    root = next((one.device for one in mappings if one.boot_index == ROOT), "")
    image.properties |= {
        WRITTEN_DISKS: disks_text(disks),
        WRITTEN_FORM: "True",
        **({WRITTEN_ROOT: f"/dev/{root}"} if root else {}),
    }
    image.save(update_fields=["properties"])
    action_open(instance_id=row.pk, action=rule.name, user_id=caller.user_id, project_id=row.project_id, work=None)
    count = sum(1 for one in mappings if one.volume_id)
    message = _("Image {name} names snapshots of {count} volumes, which hosts make now.", name=name, count=count)
    action_close(instance_id=row.pk, actions=(rule.name,), result="success", message=message)
    emit_action_at_once(rule, row.pk, caller)
    return image


def _disk(mapping: BlockDeviceMapping) -> Mapping[str, Any]:
    return {
        "source_type": mapping.source_type,
        "destination_type": mapping.destination_type,
        "boot_index": mapping.boot_index,
        "device_name": f"/dev/{mapping.device}" if mapping.device else None,
        "device_type": mapping.device_type,
        "disk_bus": mapping.disk_bus,
        "guest_format": mapping.guest_format,
        "volume_size": mapping.size_mib or mapping.size_gib or None,
        "delete_on_termination": mapping.delete_on_termination,
        "tag": mapping.tag,
    }


def _of_volume(mapping: BlockDeviceMapping, volume: Volume, snapshot: VolumeSnapshot) -> Mapping[str, Any]:
    return {
        **_disk(mapping),
        "source_type": "snapshot",
        "destination_type": "volume",
        "uuid": str(snapshot.pk),
        "volume_size": volume.size_gib,
        "volume_type": volume.volume_type.name if volume.volume_type else None,
    }
