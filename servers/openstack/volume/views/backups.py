"""Backups of volumes."""

from typing import Any
from uuid import UUID

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request
from controlplane.openstack.schemas import CompiledSchema
from servers.models import VolumeBackup
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.action_table import NO_ARGUMENTS, VolumeActionTable, VolumeWireAction
from servers.openstack.volume.call import VolumeCall, described, flag_of, uuid_of
from servers.openstack.volume.documents.copies import backup_json, backup_summary
from servers.openstack.volume.listing import VolumeListing, id_is, number_is, text_has, text_is
from servers.openstack.volume.schemas.bodies import BACKUP_CREATE, BACKUP_RESTORE, BACKUP_UPDATE
from servers.openstack.volume.schemas.shapes import closed
from servers.openstack.volume.shapes import (
    BackupShown,
    BackupsShown,
    BackupSummariesShown,
    BackupSummaryShown,
    BesideBackups,
    RestoreJson,
    RestoreShown,
)
from servers.volumes.backups.removal import backup_force_delete
from servers.volumes.domain.states import BackupState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.selectors.backups import backup_get, backups_shown, backups_visible
from servers.volumes.services.backups import (
    BackupRequest,
    backup_create,
    backup_delete,
    backup_reset_state,
    backup_restore,
    backup_update,
)
from servers.volumes.services.volumes import volume_create

BACKUPS: VolumeListing[BesideBackups] = VolumeListing(
    links="backups_links",
    project="project_id",
    filters={
        "name": text_is("name"),
        "display_name": text_is("name"),
        "name~": text_has("name"),
        "status": text_is("state"),
        "volume_id": id_is("volume_id"),
        "snapshot_id": id_is("snapshot_id"),
        "size": number_is("size_gib"),
        "user_id": id_is("user_id"),
    },
    sort_keys={
        "id": "pk",
        "name": "name",
        "status": "state",
        "size": "size_gib",
        "volume_id": "volume_id",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def backups_list(call: VolumeCall) -> JsonAnswer[BackupSummariesShown]:
    """Ids and names."""
    page = BACKUPS.page(call, backups_visible(call.caller))
    return call.answer({"backups": [backup_summary(call, row) for row in page.rows], **page.beside})


def backups_detail(call: VolumeCall) -> JsonAnswer[BackupsShown]:
    """All of each, in one query."""
    page = BACKUPS.page(call, backups_shown(call.caller))
    return call.answer({"backups": [backup_json(call, row) for row in page.rows], **page.beside})


def backup_add(call: VolumeCall) -> JsonAnswer[BackupSummaryShown]:
    """Ask for one, of a volume or of one of its snapshots. An increment rests on the last backup whose snapshot is
    still there, and leaves its own snapshot for the next one.
    """
    said = call.named("backup", BACKUP_CREATE)
    # Volumes are used as ever while they are backed up, so nothing has to be forced.
    flag_of("force", said.get("force", False))
    is_incremental = flag_of("incremental", said.get("incremental", False))
    snapshot_id = said.get("snapshot_id")
    wanted = BackupRequest(
        volume_id=uuid_of(said["volume_id"], "Volume"),
        snapshot_id=None if snapshot_id is None else uuid_of(snapshot_id, "Snapshot"),
        **described(said),
        is_incremental=is_incremental,
        keeps_snapshot=is_incremental and snapshot_id is None,
    )
    made = backup_create(caller=call.caller, request=wanted)
    return call.answer({"backup": backup_summary(call, made)}, status=202)


def backup_show(call: VolumeCall, backup_id: str) -> JsonAnswer[BackupShown]:
    """One of them."""
    row = backup_get(caller=call.caller, backup_id=uuid_of(backup_id, "Backup"))
    return call.answer({"backup": backup_json(call, row)})


def backup_change(call: VolumeCall, backup_id: str) -> JsonAnswer[BackupSummaryShown]:
    """Name and description."""
    changes = described(call.named("backup", BACKUP_UPDATE))
    row: VolumeBackup = backup_update(caller=call.caller, backup_id=uuid_of(backup_id, "Backup"), changes=changes)
    return call.answer({"backup": backup_summary(call, row)})


def backup_remove(call: VolumeCall, backup_id: str) -> Empty:
    """Have it removed. One on which others rest goes after them."""
    backup_delete(caller=call.caller, backup_id=uuid_of(backup_id, "Backup"))
    return call.empty(status=202)


def backup_restored(call: VolumeCall, backup_id: str) -> JsonAnswer[RestoreShown]:
    """Into a volume that is there, whose bytes are lost, or into a new one."""
    said = call.named("restore", BACKUP_RESTORE)
    backup = backup_get(caller=call.caller, backup_id=uuid_of(backup_id, "Backup"))
    volume_id, name = said.get("volume_id"), said.get("name")
    if volume_id is not None and name:
        raise bad_request("name: it is of a new volume, and volume_id is one that is there.")
    if volume_id is not None:
        row = backup_restore(caller=call.caller, backup_id=backup.pk, volume_id=uuid_of(volume_id, "Volume"))
    else:
        wanted = VolumeRequest(
            name=name or f"restore_backup_{backup.pk}",
            size_gib=backup.size_gib,
            source_kind=VolumeSourceKind.BACKUP,
            source_id=backup.pk,
        )
        row = volume_create(caller=call.caller, request=wanted)
    shown: RestoreJson = {"backup_id": str(backup.pk), "volume_id": str(row.pk), "volume_name": row.name}
    return call.answer({"restore": shown}, status=202)


def backup_action(call: VolumeCall, backup_id: str) -> Empty:
    """What administrators do to one."""
    known = uuid_of(backup_id, "Backup")
    backup_get(caller=call.caller, backup_id=known)
    return BACKUP_ACTIONS.answer(call, known)


def _reset_status(call: VolumeCall, backup_id: UUID, said: dict[str, Any]) -> Empty:
    backup_reset_state(backup_id=backup_id, state=BackupState(said["status"]))
    return call.empty(status=202)


def _force_delete(call: VolumeCall, backup_id: UUID, said: Any) -> Empty:
    backup_force_delete(caller=call.caller, backup_id=backup_id)
    return call.empty(status=202)


_STATES = {"enum": sorted(one.value for one in BackupState)}
BACKUP_ACTIONS: VolumeActionTable[Empty] = VolumeActionTable(
    actions={
        "os-reset_status": VolumeWireAction(
            VolumeAccess.RESET_STATE, CompiledSchema(closed(["status"], status=_STATES)), _reset_status
        ),
        "os-force_delete": VolumeWireAction(VolumeAccess.FORCE_DELETE, NO_ARGUMENTS, _force_delete),
    },
    refused={},
)
