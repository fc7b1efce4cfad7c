"""Volumes of a server."""

import uuid
from typing import Any

from django.http import HttpResponse

from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request, not_found
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME, NO, YES
from servers.instances.selectors.block_devices import InstanceDisk, instance_volumes
from servers.instances.selectors.instances import instance_get
from servers.instances.services.act import instance_act
from servers.instances.services.volumes import attached_volume_change
from servers.models import Instance
from servers.openstack.compute.call import MAX_LIMIT, ComputeCall, uuid_of
from servers.openstack.compute.multiattach import multiattach_require
from servers.openstack.compute.schemas.attachments import (
    DELETION_CHANGED_SINCE,
    DELETION_SINCE,
    volume_change_schema,
    volume_schema,
)
from servers.openstack.compute.schemas.parts import is_yes

TAGS_SHOWN_SINCE = 70
IDS_SINCE = 89
LIST_NAMES = QueryNames({"limit", "offset"})
DEVICES = "/dev/"


def attachments_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """In the order of its disks."""
    call.check_names(LIST_NAMES)
    server = _server(call, server_id)
    start = call.whole_number("offset", 0, maximum=10**9)
    found = instance_volumes(server)[start : start + (call.limit() or MAX_LIMIT)]
    return call.answer({"volumeAttachments": [_document(call, server, disk) for disk in found]})


def attachment_show(call: ComputeCall, server_id: str, volume_id: str) -> HttpResponse:
    """One of them, by its volume."""
    server = _server(call, server_id)
    return call.answer({"volumeAttachment": _document(call, server, _disk(server, volume_id))})


def attachment_add(call: ComputeCall, server_id: str) -> HttpResponse:
    """The server gets it at once where it runs, else with its next start."""
    asked = call.named("volumeAttachment", volume_schema(call.minor))
    server = _server(call, server_id)
    multiattach_require(call, [asked["volumeId"]])
    arguments = {
        "volume": asked["volumeId"],
        "device": (asked.get("device") or "").removeprefix(DEVICES),
        "tag": asked.get("tag", ""),
        "delete_on_termination": YES if is_yes(asked.get("delete_on_termination", False)) else NO,
    }
    changed = instance_act(
        caller=call.caller,
        instance_id=server.pk,
        action=ATTACH_VOLUME.name,
        arguments={name: value for name, value in arguments.items() if value},
    )
    disk = _disk(changed, asked["volumeId"])
    return call.answer({"volumeAttachment": {**_shown(call, changed, disk), "id": str(disk.volume_id)}})


def attachment_change(call: ComputeCall, server_id: str, volume_id: str) -> HttpResponse:
    """From 2.85 on: whether it is deleted with the server. Nothing else of it changes, and it is not swapped for
    another volume, which no driver here can do.
    """
    asked = call.named("volumeAttachment", volume_change_schema(call.minor))
    server = _server(call, server_id)
    disk = _disk(server, volume_id)
    if uuid.UUID(asked["volumeId"]) != disk.volume_id:
        raise bad_request("A volume is not swapped for another one here: detach it, and attach the other.")
    if call.minor < DELETION_CHANGED_SINCE:
        raise bad_request(f"Volume {disk.volume_id} is attached already: there is nothing to swap.")
    _require_same(asked, server, disk)
    if "delete_on_termination" in asked:
        attached_volume_change(
            caller=call.caller,
            instance_id=server.pk,
            volume_id=disk.volume_id,
            delete_on_termination=is_yes(asked["delete_on_termination"]),
        )
    return call.empty(status=202)


def _require_same(asked: dict[str, Any], server: Instance, disk: InstanceDisk) -> None:
    """A client may send the attachment whole: what cannot change has to be as it is. Raises Fault 400."""
    held = {"serverId": str(server.pk), "id": str(disk.volume_id), "device": _device(disk), "tag": disk.tag}
    for name, value in held.items():
        if name in asked and asked[name] != value:
            raise bad_request(f"The {name} of an attachment cannot be changed.")


def attachment_remove(call: ComputeCall, server_id: str, volume_id: str) -> HttpResponse:
    """It is gone when the guest has let go of it."""
    server = _server(call, server_id)
    volume = str(_disk(server, volume_id).volume_id)
    instance_act(caller=call.caller, instance_id=server.pk, action=DETACH_VOLUME.name, arguments={"volume": volume})
    return call.empty(status=202)


def _server(call: ComputeCall, server_id: str) -> Instance:
    return instance_get(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))


def _disk(server: Instance, volume_id: str) -> InstanceDisk:
    wanted = uuid_of(volume_id, what="Volume")
    for disk in instance_volumes(server):
        if disk.volume_id == wanted:
            return disk
    raise not_found(f"Instance {server.pk} is not attached to volume {wanted}.")


def _device(disk: InstanceDisk) -> str | None:
    return DEVICES + disk.device.removeprefix(DEVICES) if disk.device else None


def _document(call: ComputeCall, server: Instance, disk: InstanceDisk) -> dict[str, Any]:
    """As it is read. What has just been accepted has the `id` in all versions, and no others."""
    shown = _shown(call, server, disk)
    if call.minor < IDS_SINCE:
        return shown | {"id": str(disk.volume_id)}
    return shown | {
        "attachment_id": str(disk.attachment_id) if disk.attachment_id else None,
        "bdm_uuid": str(disk.mapping_id) if disk.mapping_id else None,
    }


def _shown(call: ComputeCall, server: Instance, disk: InstanceDisk) -> dict[str, Any]:
    shown: dict[str, Any] = {"serverId": str(server.pk), "volumeId": str(disk.volume_id), "device": _device(disk)}
    if call.minor >= TAGS_SHOWN_SINCE:
        shown["tag"] = disk.tag or None
    if call.minor >= DELETION_SINCE:
        shown["delete_on_termination"] = disk.delete_on_termination
    return shown
