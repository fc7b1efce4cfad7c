"""Schemas of resource providers and their aggregates, per version. Source: Placement's API reference."""

from typing import Any

from controlplane.openstack.schemas import SchemaVersions, StandardSchema

TREES_SINCE = 14

_UUID = {"type": "string", "format": "uuid"}
_NAME = {"type": "string", "maxLength": 200}
_PARENT = {"anyOf": [_UUID, {"type": "null"}]}


def _object(properties: dict[str, Any], *required: str) -> StandardSchema:
    return StandardSchema(
        {
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        }
    )


_CREATE = _object({"name": _NAME, "uuid": _UUID}, "name")
_CREATE_IN_TREE = _object({"name": _NAME, "uuid": _UUID, "parent_provider_uuid": _PARENT}, "name")
_UPDATE = _object({"name": _NAME}, "name")
_UPDATE_IN_TREE = _object({"name": _NAME, "parent_provider_uuid": _PARENT}, "name")


def provider_create_schema(minor: int) -> StandardSchema:
    """For POST; 1.14 knows parents."""
    return _CREATE_IN_TREE if minor >= TREES_SINCE else _CREATE


def provider_update_schema(minor: int) -> StandardSchema:
    """For PUT; 1.14 knows parents."""
    return _UPDATE_IN_TREE if minor >= TREES_SINCE else _UPDATE


# Newest first. Each version knows what the older ones know, and one parameter more.
_PARAMETERS: tuple[tuple[int, str, dict[str, Any]], ...] = (
    (18, "required", {"type": "string"}),
    (TREES_SINCE, "in_tree", _UUID),
    (4, "resources", {"type": "string"}),
    (3, "member_of", {"type": "string"}),
    (0, "name", {"type": "string"}),
    (0, "uuid", _UUID),
)
_LISTS = {
    since: _object({name: schema for introduced, name, schema in _PARAMETERS if introduced <= since})
    for since in (18, TREES_SINCE, 4, 3, 0)
}


def provider_query_schema(minor: int) -> StandardSchema:
    """For the parameters of GET /resource_providers."""
    return _LISTS[max(since for since in _LISTS if since <= minor)]


_AGGREGATES = {"type": "array", "items": _UUID, "uniqueItems": True}

_WITH_GENERATION = _object(
    {"aggregates": _AGGREGATES, "resource_provider_generation": {"type": "integer"}},
    "aggregates",
    "resource_provider_generation",
)
AGGREGATES = SchemaVersions((19, _WITH_GENERATION), (0, StandardSchema(_AGGREGATES)))
"""Below 1.19 the body is the list itself."""
