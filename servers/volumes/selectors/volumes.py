"""Reading volumes, snapshots, attachments and transfers: those of the caller's project; all for admins."""

import uuid

from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.models import Volume, VolumeAttachment, VolumeSnapshot, VolumeTransfer
from servers.volumes.domain.errors import AttachmentNotFound, SnapshotNotFound, TransferNotFound, VolumeNotFound


def volumes_visible(caller: Caller | None) -> QuerySet[Volume]:
    """The volumes that the caller may know of; all without a caller."""
    rows = Volume.objects.select_related("volume_type", "pool")
    return rows if caller is None or caller.sees_all else rows.filter(project_id=caller.project_id)


def volumes_shown(caller: Caller | None) -> QuerySet[Volume]:
    """The same with what answers and pages show of each: three queries, however many there are."""
    return volumes_visible(caller).prefetch_related("attachments")


def volume_get(*, caller: Caller | None, volume_id: uuid.UUID) -> Volume:
    """The volume with this id. Raises VolumeNotFound."""
    volume = volumes_shown(caller).filter(pk=volume_id).first()
    if volume is None:
        raise VolumeNotFound(_("Volume {volume_id} does not exist.", volume_id=volume_id))
    return volume


def snapshots_visible(caller: Caller | None) -> QuerySet[VolumeSnapshot]:
    """The snapshots of volumes that the caller may know of; all without a caller."""
    rows = VolumeSnapshot.objects.select_related("volume")
    return rows if caller is None or caller.sees_all else rows.filter(project_id=caller.project_id)


def snapshot_get(*, caller: Caller | None, snapshot_id: uuid.UUID) -> VolumeSnapshot:
    """The snapshot with this id. Raises SnapshotNotFound."""
    snapshot = snapshots_visible(caller).filter(pk=snapshot_id).first()
    if snapshot is None:
        raise SnapshotNotFound(_("Snapshot {snapshot_id} does not exist.", snapshot_id=snapshot_id))
    return snapshot


def transfers_visible(caller: Caller | None) -> QuerySet[VolumeTransfer]:
    """Offers of the caller's project that are not over; all for admins. Who is to accept one knows its id and word."""
    rows = VolumeTransfer.objects.select_related("volume").filter(expires_at__gt=Now())
    return rows if caller is None or caller.sees_all else rows.filter(volume__project_id=caller.project_id)


def transfer_get(*, caller: Caller | None, transfer_id: uuid.UUID) -> VolumeTransfer:
    """The offer with this id. Raises TransferNotFound."""
    found = transfers_visible(caller).filter(pk=transfer_id).first()
    if found is None:
        raise TransferNotFound(_("Transfer {transfer_id} does not exist, or is over.", transfer_id=transfer_id))
    return found


def attachments_visible(caller: Caller | None) -> QuerySet[VolumeAttachment]:
    """Which instances have volumes that the caller may know of."""
    rows = VolumeAttachment.objects.select_related("volume")
    return rows if caller is None or caller.sees_all else rows.filter(volume__project_id=caller.project_id)


def attachment_get(*, caller: Caller | None, attachment_id: uuid.UUID) -> VolumeAttachment:
    """The attachment with this id. Raises AttachmentNotFound."""
    found = attachments_visible(caller).filter(pk=attachment_id).first()
    if found is None:
        raise AttachmentNotFound(_("Volume attachment {attachment_id} does not exist.", attachment_id=attachment_id))
    return found
