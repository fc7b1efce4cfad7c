"""The bodies that the Image API takes."""

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.image.attributes import READ_ONLY, RESERVED, WRITTEN

# What nobody writes is refused by its name, whatever its value.
_ANY_VALUE: dict[str, object] = {key: {} for key in (*sorted(READ_ONLY | RESERVED), "locations")}

IMAGE_WRITTEN = CompiledSchema(
    {
        "type": "object",
        "properties": {**_ANY_VALUE, **WRITTEN, "id": {"type": "string", "format": "uuid"}},
        "patternProperties": {"^os_glance": {}},
        "additionalProperties": {"type": "string"},
    }
)
"""A new image, and what a patch makes of one."""

STEPS_MAX = 500
"""More than an image has keys."""
PATCH_V2_1 = CompiledSchema(
    {
        "type": "array",
        "maxItems": STEPS_MAX,
        "items": {
            "type": "object",
            "properties": {
                "op": {"enum": ["add", "replace", "remove"]},
                "path": {"type": "string", "pattern": "^/"},
                "value": {},
            },
            "required": ["op", "path"],
            "additionalProperties": False,
            "if": {"properties": {"op": {"const": "remove"}}},
            "then": {"not": {"required": ["value"]}},
            "else": {"required": ["value"]},
        },
    }
)
PATCH_V2_0 = CompiledSchema(
    {
        "type": "array",
        "maxItems": STEPS_MAX,
        "items": {
            "type": "object",
            "properties": {
                "add": {"type": "string", "pattern": "^/"},
                "replace": {"type": "string", "pattern": "^/"},
                "remove": {"type": "string", "pattern": "^/"},
                "value": {},
            },
            "oneOf": [
                {"required": ["add", "value"]},
                {"required": ["replace", "value"]},
                {"required": ["remove"], "not": {"required": ["value"]}},
            ],
            "additionalProperties": False,
        },
    }
)

MEMBER_ADDED = CompiledSchema(
    {
        "type": "object",
        "properties": {"member": {"type": "string", "format": "uuid"}},
        "required": ["member"],
        "additionalProperties": False,
    }
)
# openstacksdk names the member once more, beside the path.
MEMBER_ANSWER = CompiledSchema(
    {
        "type": "object",
        "properties": {
            "status": {"type": "string"},
            "member": {"type": "string"},
            "member_id": {"type": "string"},
        },
        "required": ["status"],
        "additionalProperties": False,
    }
)

IMPORT = CompiledSchema(
    {
        "type": "object",
        "properties": {
            "method": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "uri": {"type": "string"}},
                "required": ["name"],
            },
            "stores": {"type": "array", "items": {"type": "string"}},
            "all_stores": {"type": "boolean"},
            "all_stores_must_succeed": {"type": "boolean"},
        },
        "required": ["method"],
        "additionalProperties": False,
    }
)
