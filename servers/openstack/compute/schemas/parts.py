"""What several schemas have in common."""

from typing import Any

NAME = {"type": "string", "minLength": 1, "maxLength": 255}
TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"], "maxLength": 255}
MAYBE_LONG_TEXT = {"type": ["string", "null"], "maxLength": 65535}
PASSWORD = {"type": "string"}
DISK_CONFIG = {"type": "string", "enum": ["AUTO", "MANUAL"]}
BOOLEAN = {
    "enum": [
        *(True, "True", "true", "TRUE", "t", "yes", "on", "y", "1", 1),
        *(False, "False", "false", "FALSE", "f", "no", "off", "n", "0", 0, ""),
    ]
}
COUNT = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]{1,9}$"}]}
METADATA = {"type": "object", "additionalProperties": {"type": "string"}}
IMAGE_METADATA = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 255}}
"""Properties of an image that is made of a server; those of images themselves may be longer."""
TAGS = {"type": "array", "items": {"type": "string"}, "maxItems": 50, "uniqueItems": True}
PERSONALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "contents": {"type": "string"}},
        "additionalProperties": False,
    },
}
CERTIFICATES = {
    "type": ["array", "null"],
    "items": {"type": "string", "minLength": 1},
    "minItems": 1,
    "maxItems": 50,
    "uniqueItems": True,
}
ANYTHING: dict[str, Any] = {}


def closed(required: list[str] | tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def closed_named(properties: dict[str, Any], required: list[str] | tuple[str, ...] = ()) -> dict[str, Any]:
    """The same where a key is no word of Python."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def is_yes(value: object) -> bool:
    """What BOOLEAN takes, as a truth value."""
    return value is True or str(value).lower() in {"true", "t", "1", "yes", "on", "y"}


def whole(minimum: int) -> dict[str, Any]:
    """A number, or its digits as text, as Nova's clients may send either."""
    return {"type": ["integer", "string"], "minimum": minimum, "maximum": 2**31 - 1, "pattern": "^-?[0-9]{1,10}$"}
