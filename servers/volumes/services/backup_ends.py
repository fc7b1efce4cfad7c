"""What becomes of a backup when its snapshot is there, and when a host sent it or could not.

Each function is called in the transaction that ends the work, and again for a backup that is gone or moved on: then it
changes nothing.
"""

import logging
import uuid

from django.db import transaction

from computeagent.protocol.volumes import VolumeFacts, VolumeWorkKind
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import Volume, VolumeBackup, VolumeSnapshot
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.services.backup_state import backup_state_try
from servers.volumes.services.deletion import snapshot_deletion_begin
from servers.volumes.services.state import volume_state_try
from servers.volumes.services.work import volume_work_begin, volume_work_is_open

log = logging.getLogger(__name__)
BACKUP_ID = "backup_id"
"""Argument of work that restores a volume, or compares it with its last backup."""
NO_BYTES = _("Its bytes did not come. Delete it, and make another one.")
NO_SNAPSHOT = _("Its snapshot is gone.")
BATCH = 200


def backup_work_begin(backup: VolumeBackup, volume: Volume) -> None:
    """Have a host read the backup's snapshot and send it. Raises PoolUnreachable."""
    arguments = {"snapshot_id": str(backup.snapshot_id), "since_snapshot_id": ""}
    if backup.parent is not None:
        since = _base_snapshot(backup, backup.parent)
        # A host that does not know how to compare with backups finds no such snapshot, and says so.
        arguments["since_snapshot_id"] = str(since or backup.parent.pk)
        if since is None:
            arguments[BACKUP_ID] = str(backup.parent.pk)
    volume_work_begin(kind=VolumeWorkKind.VOLUME_BACKUP_CREATE, subject=backup.pk, volume=volume, arguments=arguments)


def _base_snapshot(backup: VolumeBackup, parent: VolumeBackup) -> uuid.UUID | None:
    """The snapshot of the backup that this one rests on, where it is there. A user's own that is older than that one
    cannot be told from it.
    """
    rows = VolumeSnapshot.objects.filter(volume=backup.volume_id, state=VolumeSnapshotState.AVAILABLE)
    since = rows.filter(pk=parent.snapshot_id).first() if parent.snapshot_id is not None else None
    if since is not None and backup.snapshot_id is not None and not backup.owns_snapshot:
        since = since if rows.filter(pk=backup.snapshot_id, created_at__gt=since.created_at).exists() else None
    return None if since is None else since.pk


def snapshot_came(*, snapshot_id: uuid.UUID) -> None:
    """The snapshot is there: the backup for which it was made goes on. One that no host can do now waits for a round
    of `backups_resume`.
    """
    rows = VolumeBackup.objects.filter(snapshot_id=snapshot_id, owns_snapshot=True, state=BackupState.CREATING)
    for backup_id in list(rows.values_list("pk", flat=True)):
        backup_go_on(backup_id=backup_id)


def backup_go_on(*, backup_id: uuid.UUID) -> bool:
    """Begin the work on a backup that is `creating` and that nobody works on; without its snapshot it fails. False
    where it moved on, where its snapshot is still being made, and where no host can do it now, which its fault says.
    In the caller's transaction.
    """
    rows = VolumeBackup.objects.select_for_update(of=("self",)).select_related("parent")
    row = rows.filter(pk=backup_id, state=BackupState.CREATING).first()
    if row is None or volume_work_is_open(subject=backup_id):
        return False
    snapshots = VolumeSnapshot.objects.select_related("volume__pool")
    snapshot = None if row.snapshot_id is None else snapshots.filter(pk=row.snapshot_id).first()
    if snapshot is not None and snapshot.state == VolumeSnapshotState.CREATING:
        return False
    if snapshot is None or snapshot.state != VolumeSnapshotState.AVAILABLE:
        _fail(backup_id, NO_SNAPSHOT)
        return True
    fault = ""
    try:
        with transaction.atomic():
            backup_work_begin(row, snapshot.volume)
    except Conflict as error:
        fault = error.message
    VolumeBackup.objects.filter(pk=backup_id).update(is_consistent=snapshot.is_consistent, fault=fault)
    return not fault


def snapshot_failed(*, snapshot_id: uuid.UUID, message: str) -> None:
    """There is no snapshot, and so no backup."""
    for row in VolumeBackup.objects.filter(snapshot_id=snapshot_id, owns_snapshot=True, state=BackupState.CREATING):
        _fail(row.pk, message)


def backup_create_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The store has it: `available`. A snapshot that is not to stay goes, and that of the one before it, which no
    later one needs.
    """
    has_bytes = VolumeBackup.objects.filter(pk=subject, has_bytes=True).exists()
    if not has_bytes:
        return _fail(subject, NO_BYTES)
    row = backup_state_try(backup_id=subject, after=BackupState.AVAILABLE, before=[BackupState.CREATING], fault="")
    if row is not None:
        snapshots_unneeded_let_go(row)
    return None


def snapshots_unneeded_let_go(backup: VolumeBackup) -> None:
    """Of a backup that is there now: its snapshot goes, unless it is to stay; then that of the one before it does."""
    if not backup.keeps_snapshot:
        snapshot_let_go(backup)
    elif backup.parent is not None and backup.parent.project_id == backup.project_id:
        snapshot_let_go(backup.parent)


def backup_create_failed(*, subject: uuid.UUID, message: str) -> None:
    """It has no bytes that count: `error`, until somebody deletes it."""
    _fail(subject, message)


def volume_restore_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The volume has the bytes of the backup."""
    volume_state_try(volume_id=subject, after=VolumeState.AVAILABLE, before=[VolumeState.RESTORING], fault="")


def volume_restore_failed(*, subject: uuid.UUID, message: str) -> None:
    """Nobody knows which bytes the volume has: `error_restoring`, until a backup is restored into it, or it goes."""
    volume_state_try(
        volume_id=subject, after=VolumeState.ERROR_RESTORING, before=[VolumeState.RESTORING], fault=message
    )


def _fail(backup_id: uuid.UUID, message: str) -> None:
    row = backup_state_try(backup_id=backup_id, after=BackupState.ERROR, before=[BackupState.CREATING], fault=message)
    if row is not None:
        snapshot_let_go(row)


def snapshot_let_go(backup: VolumeBackup) -> None:
    """The backup needs its snapshot no more: one that was made for it is deleted. What cannot be deleted now is tried
    again by `backups_resume`. One that went to another project with its volume is that project's now, and stays.
    """
    if backup.snapshot_id is None or not backup.owns_snapshot:
        return
    VolumeBackup.objects.filter(pk=backup.pk).update(keeps_snapshot=False)
    snapshot = VolumeSnapshot.objects.filter(pk=backup.snapshot_id, project_id=backup.project_id).first()
    try:
        with transaction.atomic():
            if snapshot is not None:
                snapshot_deletion_begin(snapshot_id=snapshot.pk, is_forced=False)
    except NotFound:
        pass
    except Conflict as error:
        log.info("the snapshot of backup %s stays for now: %s", backup.pk, error.message)
        return
    VolumeBackup.objects.filter(pk=backup.pk).update(snapshot_id=None)


def backups_resume() -> None:
    """Go on with backups that stand still: their snapshot came when no host could go on, or could not be deleted."""
    creating = VolumeBackup.objects.filter(state=BackupState.CREATING, owns_snapshot=True, snapshot_id__isnull=False)
    for pk in list(creating.values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            backup_go_on(backup_id=pk)
    resting = [BackupState.AVAILABLE.value, BackupState.ERROR.value, BackupState.DELETING.value]
    left = VolumeBackup.objects.filter(
        state__in=resting, owns_snapshot=True, keeps_snapshot=False, snapshot_id__isnull=False
    )
    for row in left.order_by("updated_at")[:BATCH]:
        with transaction.atomic():
            snapshot_let_go(row)
