"""What is done to a volume by `POST /volumes/ID/action`."""

from typing import Any
from uuid import UUID

from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request
from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.call import micro_seconds
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.action_table import NO_ARGUMENTS, VolumeActionTable, VolumeWireAction
from servers.openstack.volume.call import VolumeCall, flag_of, uuid_of
from servers.openstack.volume.documents.volumes import image_metadata
from servers.openstack.volume.faults import states_conflict
from servers.openstack.volume.schemas.shapes import FLAG, ID, NAME, SIZE, TEXT, closed
from servers.openstack.volume.shapes import UploadJson, UploadShown, VolumeMetadataShown
from servers.volumes.domain.states import VolumeState
from servers.volumes.selectors.volumes import volume_get
from servers.volumes.services.retype import volume_retype
from servers.volumes.services.uploads import volume_upload
from servers.volumes.services.volumes import (
    volume_delete,
    volume_extend,
    volume_reset_state,
    volume_revert,
    volume_update,
)

_A = VolumeAccess
_ATTACHED = {True: "attached", False: "detached"}


def volume_action(call: VolumeCall, volume_id: str) -> JsonAnswer[UploadShown | VolumeMetadataShown] | Empty:
    """Do what the body names, to a volume that the caller may know of."""
    known = uuid_of(volume_id, "Volume")
    volume_get(caller=call.caller, volume_id=known)
    return VOLUME_ACTIONS.answer(call, known)


def _extend(call: VolumeCall, volume_id: UUID, said: dict[str, Any]) -> Empty:
    volume_extend(caller=call.caller, volume_id=volume_id, size_gib=int(said["new_size"]))
    return call.empty(status=202)


def _revert(call: VolumeCall, volume_id: UUID, said: dict[str, Any]) -> Empty:
    with states_conflict():
        volume_revert(caller=call.caller, volume_id=volume_id, snapshot_id=uuid_of(said["snapshot_id"], "Snapshot"))
    return call.empty(status=202)


def _reset_status(call: VolumeCall, volume_id: UUID, said: dict[str, Any]) -> Empty:
    row = volume_get(caller=None, volume_id=volume_id)
    is_attached = bool(row.attachments.all())
    if said.get("attach_status", _ATTACHED[is_attached]) != _ATTACHED[is_attached]:
        raise bad_request("attach_status says which instances have the volume: detach it there.")
    if (said.get("migration_status") or "none") != "none":
        raise bad_request("migration_status: volumes are moved by os-retype, and have no such status.")
    if "status" in said:
        volume_reset_state(volume_id=volume_id, state=VolumeState(said["status"]))
    return call.empty(status=202)


def _force_delete(call: VolumeCall, volume_id: UUID, said: Any) -> Empty:
    volume_delete(caller=call.caller, volume_id=volume_id, is_forced=True)
    return call.empty(status=202)


def _set_bootable(call: VolumeCall, volume_id: UUID, said: dict[str, Any]) -> Empty:
    changes = {"is_bootable": flag_of("bootable", said["bootable"])}
    volume_update(caller=call.caller, volume_id=volume_id, changes=changes)
    return call.empty(status=200)


def _set_read_only(call: VolumeCall, volume_id: UUID, said: dict[str, Any]) -> Empty:
    changes = {"is_read_only": flag_of("readonly", said["readonly"])}
    volume_update(caller=call.caller, volume_id=volume_id, changes=changes)
    return call.empty(status=202)


def _retype(call: VolumeCall, volume_id: UUID, said: dict[str, Any]) -> Empty:
    may_move = said.get("migration_policy") == "on-demand"
    volume_retype(caller=call.caller, volume_id=volume_id, volume_type=said["new_type"], may_move=may_move)
    return call.empty(status=202)


def _upload_image(call: VolumeCall, volume_id: UUID, said: dict[str, Any]) -> JsonAnswer[UploadShown]:
    made = volume_upload(caller=call.caller, volume_id=volume_id, name=said["image_name"])
    row, image = made.volume, made.image
    shown: UploadJson = {
        "id": str(row.pk),
        "updated_at": micro_seconds(row.updated_at),
        "status": row.state,
        "display_description": row.description,
        "size": row.size_gib,
        "volume_type": None
        if row.volume_type is None
        else {"id": str(row.volume_type.pk), "name": row.volume_type.name},
        "image_id": str(image.pk),
        "container_format": "bare",
        "disk_format": image.disk_format,
        "image_name": image.name,
    }
    if call.minor >= 1:
        shown["visibility"], shown["protected"] = image.visibility, image.protected
    return call.answer({"os-volume_upload_image": shown}, status=202)


def _show_image_metadata(call: VolumeCall, volume_id: UUID, said: Any) -> JsonAnswer[VolumeMetadataShown]:
    row = volume_get(caller=call.caller, volume_id=volume_id)
    return call.answer({"metadata": image_metadata(row) if row.image else {}})


_UPLOAD = {
    "image_name": NAME,
    # What an upload is here, whoever asks: any other value would be ignored.
    "disk_format": {"const": "qcow2"},
    "container_format": {"enum": ["bare", None]},
    "force": {"enum": [False, "False", "false"]},
    "visibility": {"const": "private"},
    "protected": {"enum": [False, "False", "false"]},
}
_BY_COMPUTE = "Instances get and lose volumes by the Compute API alone."
_BY_IMAGE = "What a volume has of its image is what the image had when the volume was made."
_BY_TYPE = "Volumes are moved by os-retype with the migration policy on-demand."

VOLUME_ACTIONS: VolumeActionTable[JsonAnswer[UploadShown | VolumeMetadataShown] | Empty] = VolumeActionTable(
    actions={
        "os-extend": VolumeWireAction(_A.VOLUMES_WRITE, CompiledSchema(closed(["new_size"], new_size=SIZE)), _extend),
        "revert": VolumeWireAction(
            _A.VOLUMES_WRITE, CompiledSchema(closed(["snapshot_id"], snapshot_id=ID)), _revert, 40
        ),
        "os-reset_status": VolumeWireAction(
            _A.RESET_STATE,
            CompiledSchema(
                {
                    **closed(
                        [],
                        status={"enum": sorted(one.value for one in VolumeState)},
                        attach_status={"enum": ["attached", "detached"]},
                        migration_status=TEXT,
                    ),
                    "minProperties": 1,
                }
            ),
            _reset_status,
        ),
        "os-force_delete": VolumeWireAction(_A.FORCE_DELETE, NO_ARGUMENTS, _force_delete),
        "os-set_bootable": VolumeWireAction(
            _A.VOLUMES_WRITE, CompiledSchema(closed(["bootable"], bootable=FLAG)), _set_bootable
        ),
        "os-update_readonly_flag": VolumeWireAction(
            _A.VOLUMES_WRITE, CompiledSchema(closed(["readonly"], readonly=FLAG)), _set_read_only
        ),
        "os-retype": VolumeWireAction(
            _A.VOLUMES_WRITE,
            CompiledSchema(
                closed(["new_type"], new_type=NAME, migration_policy={"enum": ["on-demand", "never", None]})
            ),
            _retype,
        ),
        "os-volume_upload_image": VolumeWireAction(
            _A.VOLUMES_WRITE, CompiledSchema(closed(["image_name"], **_UPLOAD)), _upload_image
        ),
        "os-show_image_metadata": VolumeWireAction(_A.VOLUMES_READ, NO_ARGUMENTS, _show_image_metadata),
    },
    refused={
        "os-attach": _BY_COMPUTE,
        "os-detach": _BY_COMPUTE,
        "os-force_detach": _BY_COMPUTE,
        "os-reserve": _BY_COMPUTE,
        "os-unreserve": _BY_COMPUTE,
        "os-begin_detaching": _BY_COMPUTE,
        "os-roll_detaching": _BY_COMPUTE,
        "os-initialize_connection": _BY_COMPUTE,
        "os-terminate_connection": _BY_COMPUTE,
        "os-reimage": "An instance that boots from a volume is rebuilt by the Compute API.",
        "os-set_image_metadata": _BY_IMAGE,
        "os-unset_image_metadata": _BY_IMAGE,
        "os-migrate_volume": _BY_TYPE,
        "os-migrate_volume_completion": _BY_TYPE,
        "os-unmanage": "Bytes that no row explains are removed, so no volume is left behind in its pool.",
    },
)
