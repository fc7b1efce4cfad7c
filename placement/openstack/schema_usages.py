"""Schemas of the parameters of GET /usages, per version. Source: Placement's API reference."""

from typing import Any

from controlplane.openstack.schemas import StandardSchema

TYPES_SINCE = 38

_TEXT = {"type": "string", "minLength": 1, "maxLength": 255}


def _query(properties: dict[str, Any]) -> StandardSchema:
    return StandardSchema(
        {
            "type": "object",
            "properties": {"project_id": _TEXT, "user_id": _TEXT, **properties},
            "required": ["project_id"],
            "additionalProperties": False,
        }
    )


_PLAIN = _query({})
_BY_TYPE = _query({"consumer_type": {**_TEXT, "pattern": "^([A-Z0-9_]+|all|unknown)$"}})


def usages_query_schema(minor: int) -> StandardSchema:
    """1.38 knows consumer types."""
    return _BY_TYPE if minor >= TYPES_SINCE else _PLAIN
