"""Pieces that bodies of the Volume API are made of."""

from typing import Any

TEXT = {"type": ["string", "null"], "maxLength": 255}
NAME = {"type": "string", "minLength": 1, "maxLength": 255}
ID = {"type": "string", "format": "uuid"}
MAYBE_ID = {"type": ["string", "null"], "format": "uuid"}
FLAG = {"type": ["boolean", "string"], "maxLength": 5}
SIZE = {"type": ["integer", "string"], "pattern": "^[0-9]+$", "maxLength": 9, "minimum": 1}
METADATA = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 255}}
NONE = {"type": "null"}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """An object that has these properties and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def under(key: str, value: dict[str, Any]) -> dict[str, Any]:
    """A body with one key."""
    return closed([key], **{key: value})
