"""Bodies of the actions of a server: each has one key, the name of the action."""

from collections.abc import Callable
from functools import cache
from typing import Any

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import (
    BOOLEAN,
    DISK_CONFIG,
    IMAGE_METADATA,
    NAME,
    PASSWORD,
    TEXT,
    closed,
    closed_named,
)

NOTHING: dict[str, Any] = {"anyOf": [{"type": "null"}, {"type": "object", "maxProperties": 0}]}
"""Clients write null or an empty object."""
MAYBE_HOST = {"type": ["string", "null"], "minLength": 1, "maxLength": 255}
NUMBER = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,9}$"}]}
LINES = {"anyOf": [{"type": ["integer", "null"], "minimum": -1}, {"type": "string", "pattern": "^(-1|[0-9]{1,9})$"}]}
REBOOT_TYPES = ["HARD", "Hard", "hard", "SOFT", "Soft", "soft"]
MIGRATION = {"anyOf": [{"type": "string", "enum": ["auto"]}, BOOLEAN]}

ActionSchema = Callable[[int], CompiledSchema]


def of(name: str, value: dict[str, Any]) -> ActionSchema:
    """The same in each version."""
    schema = CompiledSchema(closed_named({name: value}, [name]))
    return lambda _minor: schema


def by_version(name: str, *versions: tuple[int, dict[str, Any]]) -> ActionSchema:
    """The last of these that is not newer than the request."""

    @cache
    def chosen(since: int) -> CompiledSchema:
        return CompiledSchema(closed_named({name: dict(versions)[since]}, [name]))

    return lambda minor: chosen(max(since for since, _ in versions if since <= minor))


def or_nothing(value: dict[str, Any]) -> dict[str, Any]:
    """Where the whole value may be left out."""
    return {"anyOf": [NOTHING, value]}


LOCK = by_version("lock", (1, NOTHING), (73, or_nothing(closed(["locked_reason"], locked_reason=NAME))))
UNSHELVE = by_version(
    "unshelve",
    (1, NOTHING),
    (77, or_nothing(closed(["availability_zone"], availability_zone=NAME))),
    (91, or_nothing(closed(availability_zone=MAYBE_HOST, host=NAME))),
)
REBOOT = of("reboot", closed(["type"], type={"type": "string", "enum": REBOOT_TYPES}))
RESET_STATE = of("os-resetState", closed(["state"], state={"type": "string", "enum": ["active", "error"]}))
CREATE_IMAGE = of("createImage", closed(["name"], name=NAME, metadata=IMAGE_METADATA))
CREATE_BACKUP = of(
    "createBackup",
    closed(
        ["name", "backup_type", "rotation"],
        name=NAME,
        backup_type={"type": "string"},
        rotation=NUMBER,
        metadata=IMAGE_METADATA,
    ),
)
CHANGE_PASSWORD = of("changePassword", closed(["adminPass"], adminPass=PASSWORD))
RESCUE = of("rescue", or_nothing(closed(adminPass=PASSWORD, rescue_image_ref=TEXT)))
CONSOLE_OUTPUT = of("os-getConsoleOutput", or_nothing(closed(length=LINES)))
ADD_FLOATING_IP = of("addFloatingIp", closed(["address"], address=TEXT, fixed_address={"type": ["string", "null"]}))
REMOVE_FLOATING_IP = of("removeFloatingIp", closed(["address"], address=TEXT))
ADD_FIXED_IP = of(
    "addFixedIp", closed(["networkId"], networkId={"type": ["string", "number"], "minLength": 1, "maxLength": 36})
)
REMOVE_FIXED_IP = of("removeFixedIp", closed(["address"], address=TEXT))
RESIZE = of(
    "resize",
    closed_named({"flavorRef": {"type": ["string", "integer"]}, "OS-DCF:diskConfig": DISK_CONFIG}, ["flavorRef"]),
)
MIGRATE = by_version("migrate", (1, NOTHING), (56, or_nothing(closed(host=MAYBE_HOST))))
LIVE_MIGRATE = by_version(
    "os-migrateLive",
    (
        1,
        closed(
            ["block_migration", "disk_over_commit", "host"],
            block_migration=BOOLEAN,
            disk_over_commit=BOOLEAN,
            host=MAYBE_HOST,
        ),
    ),
    (25, closed(["block_migration", "host"], block_migration=MIGRATION, host=MAYBE_HOST)),
    (30, closed(["block_migration", "host"], block_migration=MIGRATION, host=MAYBE_HOST, force=BOOLEAN)),
    (68, closed(["block_migration", "host"], block_migration=MIGRATION, host=MAYBE_HOST)),
)
EVACUATE = by_version(
    "evacuate",
    (1, closed(["onSharedStorage"], host=NAME, onSharedStorage=BOOLEAN, adminPass=PASSWORD)),
    (14, closed(host=NAME, adminPass=PASSWORD)),
    (29, closed(host=NAME, adminPass=PASSWORD, force=BOOLEAN)),
    (68, closed(host=NAME, adminPass=PASSWORD)),
)


def group_body(name: str) -> ActionSchema:
    """Of an action that names a security group."""
    return of(name, closed(["name"], name=NAME))


def console_body(name: str, *types: str) -> ActionSchema:
    """Of an action that asks for a console."""
    return of(name, closed(["type"], type={"type": "string", "enum": list(types)}))


def nothing_body(name: str) -> ActionSchema:
    """Of an action that says no more than its name."""
    return of(name, NOTHING)
