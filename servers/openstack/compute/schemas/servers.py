"""Bodies that make a server, change it, and rebuild it. Form alone: services judge the values."""

from functools import cache
from typing import Any

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import (
    ANYTHING,
    BOOLEAN,
    CERTIFICATES,
    COUNT,
    DISK_CONFIG,
    MAYBE_TEXT,
    METADATA,
    NAME,
    PASSWORD,
    PERSONALITY,
    TAGS,
    TEXT,
    closed,
    closed_named,
)

HINT_KEYS = ("os:scheduler_hints", "OS-SCH-HNT:scheduler_hints")
REFERENCE = {"type": ["string", "integer"], "minLength": 1}


def _network(minor: int) -> dict[str, Any]:
    tag = {"tag": TEXT} if 32 <= minor <= 36 or minor >= 42 else {}
    return closed_named({"uuid": TEXT, "port": MAYBE_TEXT, "fixed_ip": TEXT, **tag})


def _networks(minor: int) -> dict[str, Any]:
    listed: dict[str, Any] = {"type": "array", "items": _network(minor)}
    words: dict[str, Any] = {"type": "string", "enum": ["auto", "none"]}
    return listed if minor < 37 else {"oneOf": [listed, words]}


def _disk(minor: int) -> dict[str, Any]:
    names = ["source_type", "destination_type", "uuid", "image_id", "volume_id", "snapshot_id", "boot_index"]
    names += ["volume_size", "delete_on_termination", "disk_bus", "device_type", "device_name", "guest_format"]
    names += ["no_device"] + (["tag"] if minor >= 42 or minor == 32 else []) + (["volume_type"] if minor >= 67 else [])
    flag = {"anyOf": [BOOLEAN, {"type": "null"}]}
    return closed_named({**dict.fromkeys(names, ANYTHING), "delete_on_termination": flag})


SINCE: dict[int, dict[str, Any]] = {
    19: {"description": MAYBE_TEXT},
    52: {"tags": TAGS},
    63: {"trusted_image_certificates": CERTIFICATES},
    74: {"host": NAME, "hypervisor_hostname": NAME},
    90: {"hostname": NAME},
}
"""Keys of a new server by the version that brought them."""


OF_REBUILD_SINCE: dict[int, dict[str, Any]] = {
    19: {"description": MAYBE_TEXT},
    54: {"key_name": {"type": ["string", "null"]}},
    57: {"user_data": {"type": ["string", "null"]}},
    63: {"trusted_image_certificates": CERTIFICATES},
    90: {"hostname": NAME},
}
"""Keys of a rebuild likewise."""


@cache
def server_create_schema(minor: int) -> CompiledSchema:
    """POST /servers."""
    server: dict[str, Any] = {
        "name": NAME,
        "imageRef": TEXT,
        "flavorRef": REFERENCE,
        "adminPass": PASSWORD,
        "metadata": METADATA,
        "networks": _networks(minor),
        "OS-DCF:diskConfig": DISK_CONFIG,
        "accessIPv4": TEXT,
        "accessIPv6": TEXT,
        "availability_zone": TEXT,
        "block_device_mapping_v2": {"type": "array", "items": _disk(minor)},
        "config_drive": BOOLEAN,
        "key_name": TEXT,
        "min_count": COUNT,
        "max_count": COUNT,
        "return_reservation_id": BOOLEAN,
        "security_groups": {"type": "array", "items": closed(name=NAME)},
        "user_data": {"type": ["string", "null"]},
    }
    for since, keys in SINCE.items():
        server |= keys if minor >= since else {}
    if minor < 57:
        server["personality"] = PERSONALITY
    required = ["name", "flavorRef"] + (["networks"] if minor >= 37 else [])
    hints = {"type": "object"}
    return CompiledSchema(
        closed_named({"server": closed_named(server, required), **dict.fromkeys(HINT_KEYS, hints)}, ["server"])
    )


@cache
def server_update_schema(minor: int) -> CompiledSchema:
    """PUT /servers/{id}."""
    server: dict[str, Any] = {
        "name": NAME,
        "OS-DCF:diskConfig": DISK_CONFIG,
        "accessIPv4": TEXT,
        "accessIPv6": TEXT,
        **({"description": MAYBE_TEXT} if minor >= 19 else {}),
        **({"hostname": NAME} if minor >= 90 else {}),
    }
    return CompiledSchema(closed_named({"server": closed_named(server)}, ["server"]))


@cache
def rebuild_schema(minor: int) -> CompiledSchema:
    """The action `rebuild`."""
    asked: dict[str, Any] = {
        "name": NAME,
        "imageRef": {"type": "string", "minLength": 1},
        "adminPass": PASSWORD,
        "metadata": METADATA,
        "preserve_ephemeral": BOOLEAN,
        "OS-DCF:diskConfig": DISK_CONFIG,
        "accessIPv4": TEXT,
        "accessIPv6": TEXT,
    }
    for since, keys in OF_REBUILD_SINCE.items():
        asked |= keys if minor >= since else {}
    if minor < 57:
        asked["personality"] = PERSONALITY
    return CompiledSchema(closed_named({"rebuild": closed_named(asked, ["imageRef"])}, ["rebuild"]))
