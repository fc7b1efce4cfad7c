"""A volume that nobody has becomes an image of its project: its host packs its bytes and sends them in pieces.

The image is `queued`, then `saving`, and `active` when all has come; the volume is `uploading` meanwhile. Of what does
not end no image stays, and the volume is as it was.
"""

import uuid
from dataclasses import dataclass

from computeagent.protocol.volumes import VolumeFacts, VolumeWorkKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.db import in_transaction
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from servers.catalog.domain.quota import ImageAmounts
from servers.catalog.services.quota import image_quota_check, quota_lock
from servers.fields import refuse_if
from servers.images.domain.image_rules import image_problems
from servers.images.domain.images import DiskFormat, ImageStatus, Visibility
from servers.images.domain.snapshots import inherited_properties
from servers.images.services.snapshot_images import snapshot_image_discard
from servers.models import Image, Volume
from servers.volumes.domain.errors import InvalidVolume
from servers.volumes.domain.states import VolumeState
from servers.volumes.selectors.volumes import volume_get
from servers.volumes.services.copies import volume_held
from servers.volumes.services.notifications import emit_volume
from servers.volumes.services.state import volume_state_set, volume_state_try
from servers.volumes.services.work import volume_work_begin

_V = VolumeState
IMAGE_ID = "image_id"
"""Argument of the work: the image that is made."""
MADE = (ImageStatus.ACTIVE, ImageStatus.DEACTIVATED)


@dataclass(frozen=True, slots=True)
class VolumeUploaded:
    """A volume that is being uploaded, and the image that it becomes."""

    volume: Volume
    image: Image


@audited("volume.upload", Volume, by="volume_id", also=("name",))
def volume_upload(*, caller: Caller, volume_id: uuid.UUID, name: str) -> VolumeUploaded:
    """Make an image of what the volume has now. It needs a root disk as large as the volume, and has the properties of
    the image that the volume was made of.

    Raises VolumeNotFound, Forbidden, InvalidFields, QuotaExceeded; InvalidVolume for one that an instance has, that is
    encrypted, or that is not at rest; PoolUnreachable.
    """
    require(caller, "images:write")
    refuse_if(image_problems({"name": name}))
    return in_transaction(lambda: _upload(caller, volume_id, name))


def _upload(caller: Caller, volume_id: uuid.UUID, name: str) -> VolumeUploaded:
    project_id = volume_get(caller=caller, volume_id=volume_id).project_id
    quota_lock(project_id)
    row = volume_held(volume_id=volume_id)
    if row.state == _V.IN_USE:
        raise InvalidVolume(
            _(
                "An instance has volume {row}: make a snapshot of it, a volume of that, and the image of that volume.",
                row=row,
            ),
            field="state",
            state=row.state,
        )
    if row.is_encrypted:
        raise InvalidVolume(_("Volume {row} is encrypted, and an image of it would not be.", row=row), field="state")
    image_quota_check(project_id=project_id, wanted=ImageAmounts(1, 0, 0))
    image = Image.objects.create(
        name=name,
        project_id=project_id,
        visibility=Visibility.PRIVATE.value,
        disk_format=DiskFormat.QCOW2.value,
        min_disk_gib=row.size_gib,
        min_ram_mib=int(row.image.get("min_ram_mib") or 0),
        properties=inherited_properties(row.image.get("properties")),
    )
    after = volume_state_set(volume_id=row.pk, after=_V.UPLOADING, before=[_V.AVAILABLE], fault="")
    volume_work_begin(
        kind=VolumeWorkKind.VOLUME_UPLOAD, subject=row.pk, volume=after, arguments={IMAGE_ID: str(image.pk)}
    )
    emit_volume("upload.start", after)
    return VolumeUploaded(after, image)


def image_uploaded_by(work_id: uuid.UUID) -> uuid.UUID:
    """The image that this work was written to make."""
    return uuid.UUID(Work.objects.values_list("arguments", flat=True).get(pk=work_id)[IMAGE_ID])


def volume_upload_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The image has its bytes."""
    row = volume_state_try(volume_id=subject, after=_V.AVAILABLE, before=[_V.UPLOADING], fault="")
    if row is not None:
        emit_volume("upload.end", row)


def volume_upload_failed(*, subject: uuid.UUID, message: str) -> None:
    """There is no such image. One that was whole before its host fell silent is there, and all is well."""
    row = Volume.objects.filter(pk=subject, state=_V.UPLOADING).first()
    if row is None:
        return
    is_made = upload_give_up(row)
    after = volume_state_try(
        volume_id=subject, after=_V.AVAILABLE, before=[_V.UPLOADING], fault="" if is_made else message
    )
    if after is not None:
        emit_volume("upload.end" if is_made else "upload.error", after, problem="" if is_made else message)


def upload_give_up(row: Volume) -> bool:
    """Nobody sends the volume any more: an image that is not whole goes. Whether it was whole. In the transaction that
    writes the volume's state.
    """
    works = Work.objects.filter(subject=row.pk, kind=VolumeWorkKind.VOLUME_UPLOAD.value).order_by("-created_at", "-pk")
    arguments = works.values_list("arguments", flat=True).first()
    image_id = parse_uuid(str((arguments or {}).get(IMAGE_ID, "")))
    image = None if image_id is None else Image.objects.filter(pk=image_id).first()
    if image is None or image.status in MADE:
        return image is not None
    snapshot_image_discard(image.pk)
    return False
