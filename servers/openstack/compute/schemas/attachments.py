"""What bodies about interfaces and volumes of a server may say, for each microversion."""

from typing import Any

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import BOOLEAN, closed

TAGS_SINCE = 49
DELETION_SINCE = 79
DELETION_CHANGED_SINCE = 85

_UUID = {"type": "string", "format": "uuid"}
_TAG = {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"}
_FIXED = {
    "type": "array",
    "minItems": 1,
    "maxItems": 1,
    "items": closed(["ip_address"], ip_address={"type": "string", "minLength": 1, "maxLength": 60}),
}
_CARD = {"net_id": _UUID, "port_id": _UUID, "fixed_ips": _FIXED}
_INTERFACE = CompiledSchema(closed([], interfaceAttachment=closed([], **_CARD)))
_INTERFACE_TAGGED = CompiledSchema(closed([], interfaceAttachment=closed([], **_CARD, tag=_TAG)))

_DISK: dict[str, Any] = {
    "volumeId": _UUID,
    "device": {
        "type": ["string", "null"],
        "maxLength": 255,
        "pattern": "(^/dev/x{0,1}[a-z]{0,1}d{0,1})([a-z]+)[0-9]*$",
    },
}
_VOLUME = CompiledSchema(closed(["volumeAttachment"], volumeAttachment=closed(["volumeId"], **_DISK)))
_VOLUME_TAGGED = CompiledSchema(
    closed(["volumeAttachment"], volumeAttachment=closed(["volumeId"], **_DISK, tag=_TAG)),
)
_VOLUME_DELETABLE = CompiledSchema(
    closed(
        ["volumeAttachment"],
        volumeAttachment=closed(["volumeId"], **_DISK, tag=_TAG, delete_on_termination=BOOLEAN),
    ),
)
VOLUME_SWAP = CompiledSchema(closed(["volumeAttachment"], volumeAttachment=closed(["volumeId"], volumeId=_UUID)))
VOLUME_CHANGE = CompiledSchema(
    closed(
        ["volumeAttachment"],
        volumeAttachment=closed(
            ["volumeId"],
            **_DISK,
            tag=_TAG,
            delete_on_termination=BOOLEAN,
            serverId=_UUID,
            id=_UUID,
        ),
    )
)


def interface_schema(minor: int) -> CompiledSchema:
    """For a new interface."""
    return _INTERFACE_TAGGED if minor >= TAGS_SINCE else _INTERFACE


def volume_schema(minor: int) -> CompiledSchema:
    """For a new attachment."""
    if minor >= DELETION_SINCE:
        return _VOLUME_DELETABLE
    return _VOLUME_TAGGED if minor >= TAGS_SINCE else _VOLUME


def volume_change_schema(minor: int) -> CompiledSchema:
    """For an attachment that is changed."""
    return VOLUME_CHANGE if minor >= DELETION_CHANGED_SINCE else VOLUME_SWAP
