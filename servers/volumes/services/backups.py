"""Backups of volumes are asked for, changed and deleted here. A caller of None is the control plane itself.

A backup is of a snapshot: one that is there, or one that is made for it. While its bytes are sent the volume is used as
ever, since a snapshot does not change.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Now

from computeagent.protocol.volumes import PoolAbility, VolumeWorkKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.work import work_cancel, work_lock
from servers.catalog.services.quota import quota_lock
from servers.fields import refuse_if, text_reasons
from servers.models import Volume, VolumeBackup, VolumeSnapshot
from servers.volumes.domain.backups import MAX_COMPARED, is_full_due
from servers.volumes.domain.errors import InvalidBackup, InvalidSnapshot, NoBackupBase
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import BACKUP_DELETABLE, BACKUP_RESETTABLE, RESTORABLE
from servers.volumes.selectors.backups import backup_chain, backup_get
from servers.volumes.selectors.volumes import snapshot_get, volume_get
from servers.volumes.services.abilities import ability_require
from servers.volumes.services.backup_ends import (
    BACKUP_ID,
    backup_work_begin,
    snapshot_let_go,
    snapshots_unneeded_let_go,
)
from servers.volumes.services.backup_state import backup_state_force, backup_state_set
from servers.volumes.services.copies import backup_held, snapshot_held, volume_held
from servers.volumes.services.keys import volume_key_copy
from servers.volumes.services.quota import volumes_quota_require
from servers.volumes.services.restorable import restorable_require
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create
from servers.volumes.services.state import volume_state_set
from servers.volumes.services.work import volume_work_begin

CHANGEABLE = ("name", "description")


@dataclass(frozen=True, slots=True)
class BackupRequest:
    """A backup that is wanted: of a snapshot that is there, or of the volume as it is now.

    `is_incremental`: only what differs from the volume's last backup whose snapshot is there; where none is, from its
    last one, told by the bytes. `full_after`: after so many increments, and where there is no backup yet, it is a full
    one; 0: never, and that is refused.
    `keeps_snapshot`: the snapshot stays, so that the next one can be an increment.
    """

    volume_id: uuid.UUID
    snapshot_id: uuid.UUID | None = None
    name: str = ""
    description: str = ""
    is_incremental: bool = False
    full_after: int = 0
    keeps_snapshot: bool = False
    id: uuid.UUID = field(default_factory=uuid.uuid4)


@audited("volume_backup.create", VolumeBackup)
def backup_create(*, caller: Caller | None, request: BackupRequest) -> VolumeBackup:
    """A new backup, `creating` until its bytes are in the store and were compared.

    Raises VolumeNotFound, SnapshotNotFound, InvalidFields, QuotaExceeded, InvalidVolume, InvalidSnapshot, PoolCannot,
    NoBackupBase, PoolUnreachable.
    """
    refuse_if(_problems({"name": request.name, "description": request.description}))
    if request.full_after < 0:
        raise InvalidFields({"full_after": [_("Must be 0 or more.")]})
    if request.full_after and not request.is_incremental:
        raise InvalidFields({"full_after": [_("Goes with a backup of what changed: this one is full anyway.")]})
    return in_transaction(lambda: _create(caller, request))


def _create(caller: Caller | None, request: BackupRequest) -> VolumeBackup:
    seen = volume_get(caller=caller, volume_id=request.volume_id)
    quota_lock(seen.project_id)
    volume = volume_held(volume_id=request.volume_id)
    snapshot = None
    if request.snapshot_id is not None:
        snapshot_get(caller=caller, snapshot_id=request.snapshot_id)
        snapshot = _snapshot_of(volume, request.snapshot_id)
    parent = _parent(volume, request, snapshot) if request.is_incremental else None
    volumes_quota_require(project_id=volume.project_id, backups=1, backup_gib=volume.size_gib)
    row = VolumeBackup.objects.create(
        id=request.id,
        volume_id=volume.pk,
        volume_name=volume.name,
        project_id=volume.project_id,
        user_id=volume.user_id if caller is None else caller.user_id,
        name=request.name,
        description=request.description,
        parent=parent,
        snapshot_id=request.snapshot_id,
        owns_snapshot=snapshot is None,
        keeps_snapshot=request.keeps_snapshot,
        size_gib=volume.size_gib if snapshot is None else snapshot.size_gib,
        is_encrypted=volume.is_encrypted,
        is_consistent=snapshot is not None and snapshot.is_consistent,
        volume_type=volume.volume_type,
        image=volume.image,
        state=BackupState.CREATING.value,
    )
    if volume.is_encrypted:
        volume_key_copy(owner_id=row.pk, of=volume.pk)
    if snapshot is not None:
        backup_work_begin(row, volume)
    else:
        name = f"for backup {request.name or request.id}"[:255]
        wanted = SnapshotRequest(volume.pk, name=name, description="Made for a backup of the volume.")
        row.snapshot_id = snapshot_create(caller=None, request=wanted).pk
        row.save(update_fields=["snapshot_id"])
    return row


def _snapshot_of(volume: Volume, snapshot_id: uuid.UUID) -> VolumeSnapshot:
    snapshot = snapshot_held(snapshot_id=snapshot_id)
    if snapshot.volume_id != volume.pk:
        raise InvalidFields({"snapshot": [_("It is of volume {volume_id}.", volume_id=snapshot.volume_id)]})
    if snapshot.state != VolumeSnapshotState.AVAILABLE:
        raise InvalidSnapshot(
            _("Snapshot {snapshot} is {state}, not available.", snapshot=snapshot, state=snapshot.state),
            state=snapshot.state,
        )
    return snapshot


def _parent(volume: Volume, request: BackupRequest, snapshot: VolumeSnapshot | None) -> VolumeBackup | None:
    """What the new one rests on; None where a full one is due. Its row is locked, so that it stays. Raises PoolCannot,
    NoBackupBase.
    """
    ability_require(volume, PoolAbility.INCREMENTAL_BACKUP, "be backed up by what changed")
    snapshots = VolumeSnapshot.objects.filter(volume=volume, state=VolumeSnapshotState.AVAILABLE)
    if snapshot is not None:
        snapshots = snapshots.filter(created_at__lt=snapshot.created_at)
    rows = VolumeBackup.objects.select_for_update().order_by("-created_at")
    # After a transfer the backups of the project that had the volume before are that project's, and no base.
    mine = {"volume_id": volume.pk, "project_id": volume.project_id}
    rows = rows.filter(**mine, state=BackupState.AVAILABLE, is_encrypted=volume.is_encrypted)
    by_snapshot = rows.filter(snapshot_id__in=list(snapshots.values_list("pk", flat=True))).first()
    parent = by_snapshot or rows.first()
    if parent is None:
        if request.full_after:
            return None
        raise NoBackupBase(
            _("Volume {volume} has no backup, to tell what changed since. Make a full one first.", volume=volume),
            field="incremental",
        )
    chain = len(backup_chain(parent))
    if by_snapshot is None and chain > MAX_COMPARED:
        return None
    return None if is_full_due(chain - 1, request.full_after) else parent


@audited("volume_backup.update", VolumeBackup, by="backup_id")
def backup_update(*, caller: Caller | None, backup_id: uuid.UUID, changes: Mapping[str, Any]) -> VolumeBackup:
    """Change some of CHANGEABLE. Raises BackupNotFound, InvalidFields."""
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    refuse_if(_problems(changes))
    row = backup_get(caller=caller, backup_id=backup_id)
    if changes:
        VolumeBackup.objects.filter(pk=row.pk).update(**changes, updated_at=Now())
    return backup_get(caller=None, backup_id=backup_id)


@audited("volume_backup.restore", VolumeBackup, by="backup_id", also=("volume_id",))
def backup_restore(*, caller: Caller | None, backup_id: uuid.UUID, volume_id: uuid.UUID) -> Volume:
    """Have a volume that nobody has get the bytes of a backup; what it had is lost, and its snapshots stay.

    Raises BackupNotFound, VolumeNotFound, InvalidBackup, InvalidVolume, PoolUnreachable.
    """

    def work() -> Volume:
        backup_get(caller=caller, backup_id=backup_id)
        volume_get(caller=caller, volume_id=volume_id)
        backup, volume = backup_held(backup_id=backup_id), volume_held(volume_id=volume_id)
        restorable_require(backup, volume)
        after = volume_state_set(volume_id=volume.pk, after=VolumeState.RESTORING, before=RESTORABLE, fault="")
        arguments = {BACKUP_ID: str(backup.pk)}
        volume_work_begin(kind=VolumeWorkKind.VOLUME_RESTORE, subject=after.pk, volume=after, arguments=arguments)
        return after

    return in_transaction(work)


@audited("volume_backup.delete", VolumeBackup, by="backup_id")
def backup_delete(*, caller: Caller | None, backup_id: uuid.UUID) -> None:
    """Have nothing of the backup, nor of a snapshot that was made for it. Asked twice, it is once.

    Raises BackupNotFound; InvalidBackup while others rest on it, or a volume is made of it.
    """
    backup_get(caller=caller, backup_id=backup_id)
    in_transaction(lambda: backup_deletion_begin(backup_id=backup_id, is_forced=False))


def backup_deletion_begin(*, backup_id: uuid.UUID, is_forced: bool) -> None:
    """It is `deleting`, and nothing is done to it any more. In the caller's transaction. `is_forced`: whatever its
    state is; what needs its bytes is not given up. Raises as `backup_delete`.
    """
    work_lock(subject=backup_id)
    row = backup_held(backup_id=backup_id)
    if row.state == BackupState.DELETING:
        return
    resting = VolumeBackup.objects.filter(parent=row).count()
    if resting:
        raise InvalidBackup(
            _("{resting} backups have only what changed since {row}: delete these first.", resting=resting, row=row),
            backups=resting,
        )
    if Volume.objects.filter(source_id=row.pk, state=VolumeState.CREATING).exists():
        raise InvalidBackup(_("A volume is being made of backup {row}.", row=row), state=row.state)
    restoring = Work.objects.filter(kind=VolumeWorkKind.VOLUME_RESTORE.value, state__in=OPEN_STATES)
    if restoring.filter(arguments__backup_id=str(row.pk)).exists():
        raise InvalidBackup(_("A volume is being restored from backup {row}.", row=row), state=row.state)
    if is_forced:
        backup_state_force(backup_id=row.pk, after=BackupState.DELETING)
    else:
        backup_state_set(backup_id=row.pk, after=BackupState.DELETING, before=BACKUP_DELETABLE)
    work_cancel(subject=row.pk)
    snapshot_let_go(row)


@audited("volume_backup.reset_state", VolumeBackup, by="backup_id")
def backup_reset_state(*, backup_id: uuid.UUID, state: BackupState) -> VolumeBackup:
    """Write a state by hand, for administrators, which the policy of the door decides. What is under way is given up.

    Raises BackupNotFound, InvalidFields; InvalidBackup for one that is being deleted, and for `available` where its
    bytes did not come.
    """
    if state not in BACKUP_RESETTABLE:
        allowed = ", ".join(sorted(one.value for one in BACKUP_RESETTABLE))
        raise InvalidFields(
            {"state": [_("{state} cannot be set by hand; these can: {allowed}.", state=state.value, allowed=allowed)]}
        )
    return in_transaction(lambda: _reset(backup_id, state))


def _reset(backup_id: uuid.UUID, state: BackupState) -> VolumeBackup:
    work_lock(subject=backup_id)
    row = backup_held(backup_id=backup_id)
    if row.state == BackupState.DELETING:
        raise InvalidBackup(_("Backup {backup} is being deleted: its bytes go.", backup=row), state=row.state)
    if state is BackupState.AVAILABLE and not row.has_bytes:
        raise InvalidBackup(
            _("Backup {backup} has no bytes in the store, and cannot be available.", backup=row),
            field="state",
            state=row.state,
        )
    work_cancel(subject=row.pk)
    if state is BackupState.AVAILABLE:
        after = backup_state_force(backup_id=row.pk, after=state, fault="")
        snapshots_unneeded_let_go(after)
    else:
        after = backup_state_force(backup_id=row.pk, after=state)
        if row.state == BackupState.CREATING:
            snapshot_let_go(after)
    return after


def _problems(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        "name": text_reasons(fields.get("name", ""), maximum=255),
        "description": text_reasons(fields.get("description", ""), maximum=255),
    }
