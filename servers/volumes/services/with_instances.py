"""Volumes that are made with an instance, and those that go with it.

Invariant: a volume that an instance's build was to make is the instance's, or it is nobody's and goes: of a build that
failed no such volume stays.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import phrase as _
from servers.images.selectors import image_snapshot
from servers.models import BlockDeviceMapping, Image, Volume, VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.attachments import AttachmentRequest
from servers.volumes.domain.block_devices import ROOT, BlockDevice, DestinationType, SourceType
from servers.volumes.domain.errors import InvalidVolume
from servers.volumes.domain.pool_choice import PoolRequest
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.volumes import VolumeRequest, gib_of
from servers.volumes.services.attachments import (
    attachment_release,
    attachments_activate,
    attachments_promise,
    attachments_release,
    volumes_reserve,
)
from servers.volumes.services.claims import volume_claim
from servers.volumes.services.copies import volume_held, volume_uncopied_require
from servers.volumes.services.new_volumes import VolumePlan, volume_add, volume_plan
from servers.volumes.services.quota import volumes_quota_require
from servers.volumes.services.volumes import volume_delete

HALF_MADE = _("A rebuild that did not end may have left it half-made.")

log = logging.getLogger(__name__)


def volume_request_of(
    device: BlockDevice | BlockDeviceMapping, *, name: str = "", availability_zone: str = ""
) -> VolumeRequest:
    """The request for the volume of a disk whose volume is made."""
    source = SourceType(device.source_type)
    return VolumeRequest(
        size_gib=device.size_gib or None,
        name=name,
        volume_type=str(device.volume_type_id or ""),
        source_kind=VolumeSourceKind(source.value),
        source_id=device.source_id,
        availability_zone=availability_zone,
    )


def block_devices_write(instance_uuid: uuid.UUID, devices: Sequence[BlockDevice]) -> None:
    """The rows of an instance's disks, in their order. Volumes that are to be made have none yet."""
    attachments = VolumeAttachment.objects.filter(instance_uuid=instance_uuid).values_list("volume_id", "pk")
    of_volume: Mapping[uuid.UUID, uuid.UUID] = dict(attachments)
    BlockDeviceMapping.objects.bulk_create(
        BlockDeviceMapping(
            instance_uuid=instance_uuid,
            position=position,
            volume_id=one.source_id if one.source_id in of_volume and one.is_named_volume else None,
            attachment_id=of_volume.get(one.source_id) if one.is_named_volume and one.source_id else None,
            source_type=one.source_type.value,
            destination_type=one.destination_type.value,
            source_id=one.source_id,
            boot_index=one.boot_index,
            device=one.device,
            device_type=one.device_type,
            disk_bus=one.disk_bus,
            guest_format=one.guest_format,
            size_gib=one.size_gib,
            size_mib=one.size_mib,
            volume_type_id=one.volume_type_id,
            delete_on_termination=one.delete_on_termination,
            tag=one.tag,
        )
        for position, one in enumerate(devices)
    )


def instance_volumes_make(
    *, instance_uuid: uuid.UUID, project_id: uuid.UUID, user_id: uuid.UUID, host: str, availability_zone: str = ""
) -> None:
    """Rows and claims of the volumes that the instance's build on this host will make: in the caller's transaction, or
    not at all. One that has its volume already keeps it.

    Raises NoValidBackend where no pool of the host has the room, QuotaExceeded, and what `volume_plan` raises.
    """
    rows = list(_to_be_made(instance_uuid))
    if not rows:
        return
    volumes_quota_require(project_id=project_id, volumes=len(rows), gib=sum(row.size_gib for row in rows))
    for row in rows:
        plan = volume_plan(caller=None, request=volume_request_of(row, availability_zone=availability_zone))
        volume = volume_add(plan, project_id=project_id, user_id=user_id, instance_uuid=instance_uuid)
        volume.pool = volume_claim(volume=volume, wanted=_pool_request(plan, host))
        volume.save(update_fields=["pool"])
        wanted = AttachmentRequest(volume.pk, row.device, is_being_made=True)
        attachment = volumes_reserve(project_id=project_id, instance_uuid=instance_uuid, wanted=[wanted])[0]
        BlockDeviceMapping.objects.filter(pk=row.pk).update(volume_id=volume.pk, attachment_id=attachment.pk)


def _pool_request(plan: VolumePlan, host: str) -> PoolRequest:
    volume_type = plan.volume_type
    return PoolRequest(
        size_gib=plan.size_gib,
        type_name=volume_type.name if volume_type else "",
        pools=tuple(volume_type.pools) if volume_type else (),
        kinds=tuple(volume_type.kinds) if volume_type else (),
        abilities=plan.abilities,
        pool_id=plan.pool.pk if plan.pool else None,
        host=host,
    )


def _to_be_made(instance_uuid: uuid.UUID) -> Any:
    rows = BlockDeviceMapping.objects.filter(instance_uuid=instance_uuid, volume_id__isnull=True)
    volumes = rows.filter(destination_type=DestinationType.VOLUME.value).exclude(source_type=SourceType.VOLUME.value)
    return volumes.order_by("position")


def boot_volume_reimage(*, instance_uuid: uuid.UUID, image: Image) -> None:
    """Have the rebuild of the instance make the volume that it boots from anew, of this image: in its transaction.

    Raises InvalidVolume for a volume with snapshots, which are of its bytes, for one that others have as well, and for
    one that is too small.
    """
    root = BlockDeviceMapping.objects.get(instance_uuid=instance_uuid, boot_index=ROOT)
    if root.volume_id is None:
        raise InvalidVolume(_("The volume that the instance boots from is not there."))
    volume = volume_held(volume_id=root.volume_id)
    min_gib = max(image.min_disk_gib, gib_of(image.virtual_size_bytes or image.size_bytes))
    reasons = [
        (volume.state != VolumeState.IN_USE, f"is {volume.state}"),
        (volume.is_read_only, "can only be read"),
        (VolumeSnapshot.objects.filter(volume=volume).exists(), _("has snapshots, which are deleted first")),
        (VolumeAttachment.objects.filter(volume=volume).count() > 1, "is other instances' as well"),
        (
            volume.size_gib < min_gib,
            _(
                "has {size_gib} GiB, and image {image} needs {min_gib}",
                size_gib=volume.size_gib,
                image=image.name,
                min_gib=min_gib,
            ),
        ),
    ]
    if wrong := [words for is_wrong, words in reasons if is_wrong]:
        raise InvalidVolume(
            _("Volume {volume} {wrong}: it cannot be made anew.", volume=volume, wrong=wrong[0]), state=volume.state
        )
    volume_uncopied_require(volume)
    Volume.objects.filter(pk=volume.pk).update(
        instance_uuid=instance_uuid,
        source_kind=VolumeSourceKind.IMAGE.value,
        source_id=image.pk,
        image=image_snapshot(image),
        generation=F("generation") + 1,
        updated_at=Now(),
    )


def boot_volume_reimaged(*, instance_uuid: uuid.UUID, fault: str = "") -> None:
    """The rebuild is over. `fault`: it may have left the volume half-made."""
    Volume.objects.filter(instance_uuid=instance_uuid).exclude(state=VolumeState.CREATING.value).update(
        instance_uuid=None, fault=fault, generation=F("generation") + 1, updated_at=Now()
    )


def instance_volumes_run(*, instance_uuid: uuid.UUID) -> None:
    """The guest runs: what was promised is attached, and what was made with it is a volume as any other."""
    attachments_activate(instance_uuid=instance_uuid)
    Volume.objects.filter(instance_uuid=instance_uuid).update(
        instance_uuid=None, generation=F("generation") + 1, updated_at=Now()
    )


def instance_volumes_unmake(*, instance_uuid: uuid.UUID) -> None:
    """The build ended without the instance: what it made, or was to make, goes; another host makes it anew. What was
    promised stays promised.
    """
    for volume in Volume.objects.filter(instance_uuid=instance_uuid, state=VolumeState.CREATING.value):
        BlockDeviceMapping.objects.filter(instance_uuid=instance_uuid, volume_id=volume.pk).update(
            volume_id=None, attachment_id=None
        )
        for attachment in VolumeAttachment.objects.filter(volume=volume):
            attachment_release(attachment_id=attachment.pk)
        volume_delete(caller=None, volume_id=volume.pk, is_forced=True)
    attachments_promise(instance_uuid=instance_uuid)


def instance_volumes_release(*, instance_uuid: uuid.UUID, is_terminated: bool) -> None:
    """The instance has no volumes any more. `is_terminated`: it was deleted, and so are those that were to go with it;
    of an instance that was never built all stay that were there before it. Three queries for one without volumes.
    """
    boot_volume_reimaged(instance_uuid=instance_uuid, fault=HALF_MADE)
    if not VolumeAttachment.objects.filter(instance_uuid=instance_uuid).exists():
        BlockDeviceMapping.objects.filter(instance_uuid=instance_uuid).delete()
        return
    instance_volumes_unmake(instance_uuid=instance_uuid)
    doomed = attachments_release(instance_uuid=instance_uuid)
    for volume_id in doomed if is_terminated else ():
        try:
            with transaction.atomic():
                volume_delete(caller=None, volume_id=volume_id)
        except KilonovaError as error:
            # As in Nova, the instance goes all the same; who looks at the volume reads why it is there still.
            log.warning("volume %s does not go with instance %s: %s", volume_id, instance_uuid, error.message)
            text = f"It was to be deleted with instance {instance_uuid}: {error.message}"
            Volume.objects.filter(pk=volume_id).update(fault=text, updated_at=Now())
