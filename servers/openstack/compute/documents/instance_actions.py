"""What was done to a server, as Nova's clients read it."""

from hashlib import sha224
from typing import Any

from servers.instances.actions.images import BACKUP, SHELVE_OFFLOAD, SNAPSHOT
from servers.instances.actions.power import REBOOT_SOFT
from servers.instances.actions.rescue import CHANGE_PASSWORD
from servers.models import InstanceAction, InstanceActionEvent
from servers.openstack.call import micro_seconds
from servers.openstack.compute.call import ComputeCall

NAMES = {
    SNAPSHOT.name: "createImage",
    BACKUP.name: "createBackup",
    SHELVE_OFFLOAD.name: "shelveOffload",
    REBOOT_SOFT.name: "reboot",
    CHANGE_PASSWORD.name: "changePassword",
}
"""Where Nova calls it otherwise than we do."""
RESULTS = {"success": "Success", "error": "Error", "cancelled": "Error", "": None}
UPDATED_SINCE, EVENTS_SINCE, HOST_SINCE, DETAILS_SINCE = 58, 51, 62, 84


def action_document(call: ComputeCall, action: InstanceAction) -> dict[str, Any]:
    """One action without its events."""
    is_failed = action.result in ("error", "cancelled")
    document = {
        "action": NAMES.get(action.action, action.action),
        "instance_uuid": str(action.instance_uuid),
        "request_id": action.request_id,
        "user_id": action.user_id.hex if action.user_id else None,
        "project_id": action.project_id.hex if action.project_id else None,
        "start_time": micro_seconds(action.started_at),
        "message": "Error" if is_failed else None,
    }
    if call.minor >= UPDATED_SINCE:
        document["updated_at"] = micro_seconds(action.finished_at or action.started_at)
    return document


def action_with_events(call: ComputeCall, action: InstanceAction) -> dict[str, Any]:
    """One action with its events, which in older versions are for administrators."""
    document = action_document(call, action)
    if call.minor >= EVENTS_SINCE or call.caller.sees_all:
        document["events"] = [_event(call, action, one) for one in action.events.all()]
    return document


def _event(call: ComputeCall, action: InstanceAction, event: InstanceActionEvent) -> dict[str, Any]:
    document: dict[str, Any] = {
        "event": event.name,
        "start_time": micro_seconds(event.started_at),
        "finish_time": micro_seconds(event.finished_at),
        "result": RESULTS.get(event.result),
    }
    if call.caller.sees_all:
        document["traceback"] = event.details or None
    if call.minor >= HOST_SINCE:
        project = action.project_id.hex if action.project_id else ""
        document["hostId"] = sha224(f"{project}{event.host}".encode()).hexdigest() if event.host else ""
        document |= {"host": event.host or None} if call.caller.sees_all else {}
    if call.minor >= DETAILS_SINCE:
        # What stands in a step names hosts and paths; its owner reads what the action itself says.
        document["details"] = (action.message or None) if event.result == "error" else None
    return document
