"""Volumes and their snapshots as Nova passed them on until 2.35. What it never passed on the Volume API alone has."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.openstack.described import QueryNames
from controlplane.openstack.schemas import CompiledSchema
from servers.models import Volume, VolumeSnapshot
from servers.openstack.call import micro_seconds
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.faults import named_in_body
from servers.openstack.compute.schemas.parts import BOOLEAN, MAYBE_TEXT, METADATA, NAME, closed, whole
from servers.volumes.domain.states import AttachmentState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.selectors.volumes import snapshot_get, snapshots_visible, volume_get, volumes_shown
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create, snapshot_delete
from servers.volumes.services.volumes import volume_create, volume_delete

LIST_NAMES = QueryNames({"limit", "offset"})
_DESCRIBED = {"display_name": MAYBE_TEXT, "display_description": MAYBE_TEXT}
VOLUME_BODY = CompiledSchema(
    closed(
        ["volume"],
        volume=closed(
            ["size"],
            **_DESCRIBED,
            size=whole(1),
            volume_type=MAYBE_TEXT,
            metadata={"anyOf": [METADATA, {"type": "null"}]},
            snapshot_id=MAYBE_TEXT,
            availability_zone=MAYBE_TEXT,
        ),
    )
)
SNAPSHOT_BODY = CompiledSchema(
    closed(["snapshot"], snapshot=closed(["volume_id"], **_DESCRIBED, volume_id=NAME, force=BOOLEAN))
)


def volumes_list(call: ComputeCall) -> HttpResponse:
    """Those of the project, the newest first. Nova's two lists differ by their paths alone."""
    rows = volumes_shown(call.caller).filter(project_id=call.caller.project_id)
    return call.answer({"volumes": [_volume(row) for row in _page(call, rows)]})


def volume_show(call: ComputeCall, volume_id: str) -> HttpResponse:
    """One of them."""
    return call.answer({"volume": _volume(_found(call, volume_id))})


def volume_add(call: ComputeCall) -> HttpResponse:
    """A new one: blank, or of a snapshot."""
    asked = call.named("volume", VOLUME_BODY)
    snapshot = asked.get("snapshot_id")
    with named_in_body():
        source = uuid_of(snapshot, what="Snapshot") if snapshot else None
        request = VolumeRequest(
            size_gib=int(asked["size"]),
            name=_words(asked, "display_name"),
            description=_words(asked, "display_description"),
            volume_type=_words(asked, "volume_type"),
            source_kind=VolumeSourceKind.SNAPSHOT if source else VolumeSourceKind.BLANK,
            source_id=source,
            availability_zone=_words(asked, "availability_zone"),
            metadata=asked.get("metadata") or {},
        )
        made = volume_create(caller=call.caller, request=request)
    return call.answer({"volume": _volume(volume_get(caller=call.caller, volume_id=made.pk))})


def volume_remove(call: ComputeCall, volume_id: str) -> HttpResponse:
    """Gone as soon as a host has removed it."""
    volume_delete(caller=call.caller, volume_id=_found(call, volume_id).pk)
    return call.empty(status=202)


def snapshots_list(call: ComputeCall) -> HttpResponse:
    """Those of the project, the newest first."""
    rows = snapshots_visible(call.caller).filter(project_id=call.caller.project_id)
    return call.answer({"snapshots": [_snapshot(row) for row in _page(call, rows)]})


def snapshot_show(call: ComputeCall, snapshot_id: str) -> HttpResponse:
    """One of them."""
    row = snapshot_get(caller=call.caller, snapshot_id=uuid_of(snapshot_id, what="Snapshot"))
    return call.answer({"snapshot": _snapshot(row)})


def snapshot_add(call: ComputeCall) -> HttpResponse:
    """A new one. A volume that a server has needs no `force` here."""
    asked = call.named("snapshot", SNAPSHOT_BODY)
    request = SnapshotRequest(
        uuid_of(asked["volume_id"], what="Volume"),
        name=_words(asked, "display_name"),
        description=_words(asked, "display_description"),
    )
    return call.answer({"snapshot": _snapshot(snapshot_create(caller=call.caller, request=request))})


def snapshot_remove(call: ComputeCall, snapshot_id: str) -> HttpResponse:
    """Gone as soon as a host has removed it."""
    snapshot_delete(caller=call.caller, snapshot_id=uuid_of(snapshot_id, what="Snapshot"))
    return call.empty(status=202)


def _page(call: ComputeCall, rows: "QuerySet[Any]") -> "QuerySet[Any]":
    call.check_names(LIST_NAMES)
    start = call.whole_number("offset", 0, maximum=10**9)
    return rows.order_by("-created_at", "-pk")[start : start + call.limit()]


def _found(call: ComputeCall, volume_id: str) -> Volume:
    return volume_get(caller=call.caller, volume_id=uuid_of(volume_id, what="Volume"))


def _words(asked: dict[str, Any], name: str) -> str:
    return str(asked.get(name) or "").strip()


def _volume(row: Volume) -> dict[str, Any]:
    held = [one for one in row.attachments.all() if one.state in (AttachmentState.ATTACHED, AttachmentState.DETACHING)]
    return {
        "id": str(row.pk),
        "status": row.state,
        "size": row.size_gib,
        "availabilityZone": row.availability_zone,
        "createdAt": micro_seconds(row.created_at),
        "displayName": row.name,
        "displayDescription": row.description,
        "volumeType": row.volume_type.name if row.volume_type else None,
        "snapshotId": str(row.source_id) if row.source_kind == VolumeSourceKind.SNAPSHOT else None,
        "metadata": dict(row.metadata),
        # Nova answered with one empty object where there is no attachment, and clients count on it.
        "attachments": [
            {
                "id": str(row.pk),
                "volumeId": str(row.pk),
                "serverId": str(one.instance_uuid),
                **({"device": f"/dev/{one.device}"} if one.device else {}),
            }
            for one in held
        ]
        or [{}],
    }


def _snapshot(row: VolumeSnapshot) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "volumeId": str(row.volume_id),
        "status": row.state,
        "size": row.size_gib,
        "createdAt": micro_seconds(row.created_at),
        "displayName": row.name,
        "displayDescription": row.description,
    }
