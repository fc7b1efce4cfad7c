"""What bodies about aggregates may say."""

from typing import Any

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import NAME, closed

_ZONE = {"type": ["string", "null"], "minLength": 1, "maxLength": 255}
_HOST = closed(["host"], host=NAME)
_METADATA: dict[str, Any] = {
    "type": "object",
    "patternProperties": {"^.{1,255}$": {"type": ["string", "null"], "maxLength": 255}},
    "additionalProperties": False,
}

AGGREGATE_CREATE = CompiledSchema(closed(["aggregate"], aggregate=closed(["name"], name=NAME, availability_zone=_ZONE)))
AGGREGATE_UPDATE = CompiledSchema(
    closed(["aggregate"], aggregate={**closed([], name=NAME, availability_zone=_ZONE), "minProperties": 1})
)
AGGREGATE_ACTION = CompiledSchema(
    {
        **closed(
            [],
            add_host=_HOST,
            remove_host=_HOST,
            set_metadata=closed(["metadata"], metadata=_METADATA),
        ),
        "minProperties": 1,
        "maxProperties": 1,
    }
)
AGGREGATE_IMAGES = CompiledSchema(
    closed(
        ["cache"],
        cache={
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": closed(["id"], id={"type": "string", "format": "uuid"}),
        },
    )
)
