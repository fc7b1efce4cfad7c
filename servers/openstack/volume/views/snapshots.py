"""Snapshots of volumes."""

from typing import Any
from uuid import UUID

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request
from controlplane.openstack.schemas import CompiledSchema
from servers.models import VolumeSnapshot
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.action_table import NO_ARGUMENTS, VolumeActionTable, VolumeWireAction
from servers.openstack.volume.call import VolumeCall, described, flag_of, uuid_of
from servers.openstack.volume.documents.copies import changed_snapshot_json, snapshot_json, snapshot_summary
from servers.openstack.volume.listing import (
    VolumeListFilter,
    VolumeListing,
    counted_in_quota,
    id_is,
    keyed_texts,
    text_has,
    text_is,
)
from servers.openstack.volume.schemas.bodies import SNAPSHOT_CREATE, SNAPSHOT_UPDATE
from servers.openstack.volume.schemas.shapes import closed
from servers.openstack.volume.shapes import (
    BesideSnapshots,
    ChangedSnapshotShown,
    SnapshotShown,
    SnapshotsShown,
    SnapshotSummariesShown,
)
from servers.volumes.domain.states import VolumeSnapshotState
from servers.volumes.selectors.volumes import snapshot_get, snapshots_visible
from servers.volumes.services.snapshots import (
    SnapshotRequest,
    snapshot_create,
    snapshot_delete,
    snapshot_reset_state,
    snapshot_update,
)

NO_FORCE_SINCE = 66

SNAPSHOTS: VolumeListing[BesideSnapshots] = VolumeListing(
    links="snapshots_links",
    project="project_id",
    filters={
        "name": text_is("name"),
        "display_name": text_is("name"),
        "name~": text_has("name"),
        "status": text_is("state"),
        "volume_id": id_is("volume_id"),
        "metadata": keyed_texts("metadata"),
        "user_id": id_is("user_id"),
        "consumes_quota": VolumeListFilter(counted_in_quota, since=65),
    },
    sort_keys={
        "id": "pk",
        "name": "name",
        "status": "state",
        "volume_id": "volume_id",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def snapshots_list(call: VolumeCall) -> JsonAnswer[SnapshotSummariesShown]:
    """What they are."""
    page = SNAPSHOTS.page(call, snapshots_visible(call.caller))
    return call.answer({"snapshots": [snapshot_summary(row) for row in page.rows], **page.beside})


def snapshots_detail(call: VolumeCall) -> JsonAnswer[SnapshotsShown]:
    """All of each."""
    page = SNAPSHOTS.page(call, snapshots_visible(call.caller))
    return call.answer({"snapshots": [snapshot_json(call, row) for row in page.rows], **page.beside})


def snapshot_add(call: VolumeCall) -> JsonAnswer[ChangedSnapshotShown]:
    """Ask for one. Of a volume that an instance has too, where its pool can; `force` says no more than that."""
    said = call.named("snapshot", SNAPSHOT_CREATE)
    if "force" in said and not flag_of("force", said["force"]) and call.minor >= NO_FORCE_SINCE:
        raise bad_request("force: from version 3.66 on nothing has to be forced, and false is refused.")
    volume_id = parse_uuid(said["volume_id"])
    assert volume_id is not None  # noqa: S101 - the schema wants an id
    wanted = SnapshotRequest(volume_id, **described(said), metadata=said.get("metadata") or {})
    return _changed(call, snapshot_create(caller=call.caller, request=wanted), status=202)


def snapshot_show(call: VolumeCall, snapshot_id: str) -> JsonAnswer[SnapshotShown]:
    """One of them."""
    row = snapshot_get(caller=call.caller, snapshot_id=uuid_of(snapshot_id, "Snapshot"))
    return call.answer({"snapshot": snapshot_json(call, row)})


def snapshot_change(call: VolumeCall, snapshot_id: str) -> JsonAnswer[ChangedSnapshotShown]:
    """Name and description."""
    changes = described(call.named("snapshot", SNAPSHOT_UPDATE))
    known = uuid_of(snapshot_id, "Snapshot")
    return _changed(call, snapshot_update(caller=call.caller, snapshot_id=known, changes=changes))


def snapshot_remove(call: VolumeCall, snapshot_id: str) -> Empty:
    """Have it removed."""
    snapshot_delete(caller=call.caller, snapshot_id=uuid_of(snapshot_id, "Snapshot"))
    return call.empty(status=202)


def snapshot_action(call: VolumeCall, snapshot_id: str) -> Empty:
    """What administrators do to one."""
    known = uuid_of(snapshot_id, "Snapshot")
    snapshot_get(caller=call.caller, snapshot_id=known)
    return SNAPSHOT_ACTIONS.answer(call, known)


def _reset_status(call: VolumeCall, snapshot_id: UUID, said: dict[str, Any]) -> Empty:
    snapshot_reset_state(snapshot_id=snapshot_id, state=VolumeSnapshotState(said["status"]))
    return call.empty(status=202)


def _force_delete(call: VolumeCall, snapshot_id: UUID, said: Any) -> Empty:
    snapshot_delete(caller=call.caller, snapshot_id=snapshot_id, is_forced=True)
    return call.empty(status=202)


_STATES = {"enum": sorted(one.value for one in VolumeSnapshotState)}
SNAPSHOT_ACTIONS: VolumeActionTable[Empty] = VolumeActionTable(
    actions={
        "os-reset_status": VolumeWireAction(
            VolumeAccess.RESET_STATE, CompiledSchema(closed(["status"], status=_STATES)), _reset_status
        ),
        "os-force_delete": VolumeWireAction(VolumeAccess.FORCE_DELETE, NO_ARGUMENTS, _force_delete),
    },
    refused={
        "os-unmanage": "Bytes that no row explains are removed, so no snapshot is left behind in its pool.",
        "os-update_snapshot_status": "Hosts say themselves how the work on a snapshot ended.",
    },
)


def _changed(call: VolumeCall, row: VolumeSnapshot, *, status: int = 200) -> JsonAnswer[ChangedSnapshotShown]:
    return call.answer({"snapshot": changed_snapshot_json(call, row)}, status=status)
