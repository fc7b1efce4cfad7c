"""The JSON schemas that clients read to know what an image has: made of what request bodies are judged by."""

from typing import Any

from servers.images.domain.images import ImageStatus, ImageTaskState, MemberStatus
from servers.openstack.image.attributes import WRITTEN
from servers.openstack.image.image_json import TASK_TYPES
from servers.openstack.image.shapes import PublishedSchema

_TEXT = {"type": "string"}
_PATH = "^/v2/"


def _read_only(kind: object, description: str) -> dict[str, Any]:
    return {"type": kind, "readOnly": True, "description": description}


_IMAGE_KEYS: dict[str, Any] = {
    "id": {"type": "string", "description": "A UUID; one is made where none is given."},
    **WRITTEN,
    "status": {**_read_only("string", "Whether its bytes can be used."), "enum": [one.value for one in ImageStatus]},
    "size": _read_only(["null", "integer"], "Bytes of its file."),
    "virtual_size": _read_only(["null", "integer"], "Bytes of the disk that a guest sees."),
    "checksum": _read_only(["null", "string"], "The MD5 of its file; null for what a host sent, such as a snapshot."),
    "os_hash_algo": _read_only(["null", "string"], "How os_hash_value is made."),
    "os_hash_value": _read_only(["null", "string"], "The hash of its file, in hexadecimal."),
    "created_at": _read_only("string", "When it was made."),
    "updated_at": _read_only("string", "When it changed last."),
    "self": _read_only("string", "Its own path."),
    "file": _read_only("string", "The path of its bytes."),
    "schema": _read_only("string", "The path of this schema."),
}
IMAGE: PublishedSchema = {
    "name": "image",
    "properties": _IMAGE_KEYS,
    "additionalProperties": _TEXT,
    "links": [
        {"rel": "self", "href": "{self}"},
        {"rel": "enclosure", "href": "{file}"},
        {"rel": "describedby", "href": "{schema}"},
    ],
}
IMAGES: PublishedSchema = {
    "name": "images",
    "properties": {
        "images": {"type": "array", "items": IMAGE},
        "first": {"type": "string", "pattern": _PATH},
        "next": {"type": "string", "pattern": _PATH},
        "schema": {"type": "string", "pattern": _PATH},
    },
    "links": [
        {"rel": "first", "href": "{first}"},
        {"rel": "next", "href": "{next}"},
        {"rel": "describedby", "href": "{schema}"},
    ],
}
MEMBER: PublishedSchema = {
    "name": "member",
    "properties": {
        "member_id": {"type": "string", "description": "The project that the image is shared with."},
        "image_id": {"type": "string", "description": "The image."},
        "status": {
            "type": "string",
            "enum": [one.value for one in MemberStatus],
            "description": "What the project said to it.",
        },
        "created_at": _read_only("string", "When it was shared."),
        "updated_at": _read_only("string", "When that changed last."),
        "schema": _read_only("string", "The path of this schema."),
    },
}
MEMBERS: PublishedSchema = {
    "name": "members",
    "properties": {"members": {"type": "array", "items": MEMBER}, "schema": {"type": "string", "pattern": _PATH}},
    "links": [{"rel": "describedby", "href": "{schema}"}],
}
TASK: PublishedSchema = {
    "name": "task",
    "properties": {
        "id": _read_only("string", "The id of its image, which has one task at a time."),
        "type": {**_read_only("string", "What is done."), "enum": list(TASK_TYPES.values())},
        "status": {**_read_only("string", "How far it is."), "enum": [one.value for one in ImageTaskState]},
        "owner": _read_only(["null", "string"], "The project of the image."),
        "image_id": _read_only("string", "The image."),
        "input": _read_only("object", "What it was asked for."),
        "result": _read_only("null", "What came of it is the image."),
        "message": _read_only("string", "Why it failed, or is tried again."),
        "created_at": _read_only("string", "When it was asked for."),
        "updated_at": _read_only("string", "When it changed last."),
        "expires_at": _read_only("null", "It stays as long as its image."),
        "self": _read_only("string", "Its own path."),
        "schema": _read_only("string", "The path of this schema."),
    },
}
TASKS: PublishedSchema = {
    "name": "tasks",
    "properties": {
        "tasks": {"type": "array", "items": TASK},
        "first": {"type": "string", "pattern": _PATH},
        "next": {"type": "string", "pattern": _PATH},
        "schema": {"type": "string", "pattern": _PATH},
    },
    "links": IMAGES["links"],
}
PUBLISHED: dict[str, PublishedSchema] = {
    "image": IMAGE,
    "images": IMAGES,
    "member": MEMBER,
    "members": MEMBERS,
    "task": TASK,
    "tasks": TASKS,
}
"""{name in the path: schema}."""
