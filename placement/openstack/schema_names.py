"""Schemas of resource classes and traits. Source: Placement's API reference."""

from controlplane.openstack.schemas import StandardSchema

NAME_PATTERN = "^[A-Z0-9_]+$"
CUSTOM_PATTERN = "^CUSTOM_[A-Z0-9_]+$"

CUSTOM_NAME = StandardSchema({"type": "string", "minLength": 1, "maxLength": 255, "pattern": CUSTOM_PATTERN})

RESOURCE_CLASS = StandardSchema(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 255, "pattern": CUSTOM_PATTERN}},
        "required": ["name"],
        "additionalProperties": False,
    }
)

TRAIT_QUERY = StandardSchema(
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "associated": {"type": "string"}},
        "additionalProperties": False,
    }
)

PROVIDER_TRAITS = StandardSchema(
    {
        "type": "object",
        "properties": {
            "traits": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 255}},
            "resource_provider_generation": {"type": "integer"},
        },
        "required": ["traits", "resource_provider_generation"],
        "additionalProperties": False,
    }
)
