"""This module ends what stands still of volumes, snapshots and backups: they say that something is being done to them,
and there is no work that does it. It happens where work was cancelled, or ended, without its consequence.
"""

import logging
import uuid
from collections.abc import Callable

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from controlplane.infra.db import now_plus
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import STUCK_VOLUME, heal_record
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.models import BuildRequest, Instance, Volume, VolumeAttachment, VolumeBackup, VolumeSnapshot
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.services.attachments import attachment_release
from servers.volumes.services.backup_ends import backup_go_on, volume_restore_failed
from servers.volumes.services.copies import snapshot_held, volume_held
from servers.volumes.services.deletion import snapshot_bytes_remove, volume_bytes_remove, volume_deletion_begin
from servers.volumes.services.retype import volume_retype_failed
from servers.volumes.services.snapshot_images import images_of_snapshots_heal
from servers.volumes.services.uploads import volume_upload_failed
from servers.volumes.services.volume_ends import (
    snapshot_create_failed,
    volume_create_failed,
    volume_extend_failed,
    volume_revert_failed,
)

log = logging.getLogger(__name__)
GRACE_S = 60.0
BATCH = 200
NOBODY = _("Nobody worked on it any more.")
_V, _S = VolumeState, VolumeSnapshotState

FAILS: dict[str, Callable[..., None]] = {
    _V.CREATING.value: volume_create_failed,
    _V.EXTENDING.value: volume_extend_failed,
    _V.REVERTING.value: volume_revert_failed,
    _V.RESTORING.value: volume_restore_failed,
    _V.UPLOADING.value: volume_upload_failed,
    _V.RETYPING.value: volume_retype_failed,
}
"""What becomes of a volume in such a state, as if its work had failed; one that is `deleting` goes on being deleted."""


def stuck_volumes_heal() -> int:
    """End what stands still for GRACE_S. Returns how much; a second run finds none of it."""
    open_work = Work.objects.filter(subject=OuterRef("pk"), state__in=OPEN_STATES)
    old = Q(updated_at__lt=now_plus(-GRACE_S)) & ~Exists(open_work)
    volumes = Volume.objects.filter(old, state__in=[*FAILS, _V.DELETING]).order_by("updated_at")
    snapshots = VolumeSnapshot.objects.filter(old, state__in=[_S.CREATING, _S.DELETING]).order_by("updated_at")
    # That of a backup which waits for its own snapshot is begun by `backups_resume`.
    backups = VolumeBackup.objects.filter(old, state=BackupState.CREATING, owns_snapshot=False).order_by("updated_at")
    healed = sum(_heal(_volume, pk) for pk in volumes.values_list("pk", flat=True)[:BATCH])
    healed += sum(_heal(_backup, pk) for pk in backups.values_list("pk", flat=True)[:BATCH])
    healed += images_of_snapshots_heal()
    return healed + sum(_heal(_snapshot, pk) for pk in snapshots.values_list("pk", flat=True)[:BATCH])


def _heal(heal: Callable[[uuid.UUID], str], pk: uuid.UUID) -> bool:
    """One of them in a transaction of its own; a failure is logged and does not stop the others."""
    try:
        with transaction.atomic():
            found = heal(pk)
            if found:
                heal_record(
                    kind=STUCK_VOLUME, subject=pk, found=found, done=_("It was ended, or begun again."), evidence={}
                )
    except Exception:
        log.exception("volume, snapshot or backup %s stands still and could not be ended", pk)
        return False
    if found:
        log.warning("volume, snapshot or backup %s %s", pk, found)
    return bool(found)


def _volume(pk: uuid.UUID) -> str:
    """What was found and ended; empty where it moved on, or waits for the host that it needs."""
    row = volume_held(volume_id=pk)
    # Checked again under the lock: whoever begins work changes the row first.
    if _is_worked_on(pk) or row.state not in {*FAILS, _V.DELETING.value}:
        return ""
    found = f"was {row.state} and nobody worked on it"
    if row.state == _V.DELETING:
        volume_bytes_remove(row)
        is_begun = _is_worked_on(pk) or not Volume.objects.filter(pk=pk).exists()
        return found if is_begun else ""
    if row.state == _V.CREATING and row.instance_uuid is not None:
        if _is_wanted(row.instance_uuid):
            return ""  # its instance's build makes it, or ends it
        Volume.objects.filter(pk=pk).update(instance_uuid=None)
        for attachment in VolumeAttachment.objects.filter(volume=pk, instance_uuid=row.instance_uuid):
            attachment_release(attachment_id=attachment.pk)
        volume_deletion_begin(volume_id=pk, with_snapshots=True, is_forced=False)
        return f"was being made with instance {row.instance_uuid}, which is gone"
    FAILS[row.state](subject=pk, message=NOBODY)
    return found


def _is_wanted(instance_uuid: uuid.UUID) -> bool:
    living = Instance.objects.filter(pk=instance_uuid, deleted_at__isnull=True)
    return living.exists() or BuildRequest.objects.filter(instance_uuid=instance_uuid).exists()


def _snapshot(pk: uuid.UUID) -> str:
    row = snapshot_held(snapshot_id=pk)
    if _is_worked_on(pk) or row.state not in {_S.CREATING.value, _S.DELETING.value}:
        return ""
    found = f"was {row.state} and nobody worked on it"
    if row.state == _S.CREATING:
        snapshot_create_failed(subject=pk, message=NOBODY)
        return found
    snapshot_bytes_remove(row)
    is_begun = _is_worked_on(pk) or not VolumeSnapshot.objects.filter(pk=pk).exists()
    return found if is_begun else ""


def _backup(pk: uuid.UUID) -> str:
    """A backup of a snapshot that is there is begun again; its host sends the same bytes."""
    return "was creating and nobody worked on it" if backup_go_on(backup_id=pk) else ""


def _is_worked_on(pk: uuid.UUID) -> bool:
    return Work.objects.filter(subject=pk, state__in=OPEN_STATES).exists()
