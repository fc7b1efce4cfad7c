"""Snapshots, backups and transfers as the Volume API shows them."""

from servers.models import VolumeBackup, VolumeSnapshot, VolumeTransfer
from servers.openstack.call import micro_seconds
from servers.openstack.volume.call import VolumeCall
from servers.openstack.volume.shapes import (
    BackupFieldsByVersion,
    BackupJson,
    BackupSummary,
    ChangedSnapshotJson,
    SnapshotFieldsByVersion,
    SnapshotJson,
    SnapshotSummary,
    TransferFieldsByVersion,
    TransferJson,
    TransferSummary,
)
from servers.volumes.domain.states import VolumeSnapshotState

TRANSFERS_OLD, TRANSFERS = "os-volume-transfer", "volume-transfers"


def snapshot_summary(row: VolumeSnapshot) -> SnapshotSummary:
    """What a list without details shows."""
    return {
        "id": str(row.pk),
        "name": row.name,
        "description": row.description,
        "volume_id": str(row.volume_id),
        "status": row.state,
        "size": row.size_gib,
        "metadata": dict(row.metadata),
        "created_at": micro_seconds(row.created_at),
        "updated_at": micro_seconds(row.updated_at),
    }


def snapshot_json(call: VolumeCall, row: VolumeSnapshot) -> SnapshotJson:
    """One snapshot, with what its version has."""
    return {
        **changed_snapshot_json(call, row),
        "os-extended-snapshot-attributes:project_id": row.project_id.hex,
        "os-extended-snapshot-attributes:progress": "0%" if row.state == VolumeSnapshotState.CREATING else "100%",
    }


def changed_snapshot_json(call: VolumeCall, row: VolumeSnapshot) -> ChangedSnapshotJson:
    """One snapshot as what makes or changes it answers: Cinder's extension adds its fields to what is read alone."""
    added: SnapshotFieldsByVersion = {}
    if call.minor >= 14:
        added["group_snapshot_id"] = None
    if call.minor >= 41:
        added["user_id"] = row.user_id.hex
    if call.minor >= 65:
        added["consumes_quota"] = True
    return {**snapshot_summary(row), **added}


def backup_summary(call: VolumeCall, row: VolumeBackup) -> BackupSummary:
    """What a list without details shows."""
    return {"id": str(row.pk), "name": row.name, "links": call.links("backups", row.pk)}


def backup_json(call: VolumeCall, row: VolumeBackup) -> BackupJson:
    """One backup, with what its version has. A backup is one object of the store, which has no containers."""
    return {
        **backup_summary(call, row),
        "status": row.state,
        "size": row.size_gib,
        "object_count": int(row.has_bytes),
        "availability_zone": None,
        "container": None,
        "created_at": micro_seconds(row.created_at),
        "updated_at": micro_seconds(row.updated_at),
        "description": row.description,
        "fail_reason": row.fault or None,
        "volume_id": str(row.volume_id),
        "is_incremental": row.parent_id is not None,
        "has_dependent_backups": bool(getattr(row, "has_dependents", False)),
        # One that was made for the backup is not the user's, and goes with it.
        "snapshot_id": str(row.snapshot_id) if row.snapshot_id and not row.owns_snapshot else None,
        "data_timestamp": micro_seconds(row.created_at),
        **_backup_by_version(call, row),
    }


def _backup_by_version(call: VolumeCall, row: VolumeBackup) -> BackupFieldsByVersion:
    added: BackupFieldsByVersion = {}
    if call.minor >= 18 and call.sees_all:
        added["os-backup-project-attr:project_id"] = row.project_id.hex
    if call.minor >= 43:
        added["metadata"] = {}
    if call.minor >= 56:
        added["user_id"] = row.user_id.hex
    return added


def transfer_summary(call: VolumeCall, row: VolumeTransfer) -> TransferSummary:
    """What a list without details shows."""
    path = TRANSFERS if f"/{TRANSFERS}" in call.request.path_info else TRANSFERS_OLD
    return {
        "id": str(row.pk),
        "name": row.name,
        "volume_id": str(row.volume_id),
        "links": call.links(path, row.pk),
    }


def transfer_json(call: VolumeCall, row: VolumeTransfer) -> TransferJson:
    """One offer. It is for whoever knows its word, so it goes to no project until it is accepted, and is gone then."""
    added: TransferFieldsByVersion = {}
    if call.minor >= 55:
        added["no_snapshots"] = not row.has_snapshots
    if call.minor >= 57:
        added["source_project_id"] = row.volume.project_id.hex
        added["destination_project_id"] = None
        added["accepted"] = False
    return {**transfer_summary(call, row), "created_at": micro_seconds(row.created_at), **added}
