"""What bodies that write allocations may look like, per microversion: by consumer, many at once, and in a reshape."""

from typing import Any

from controlplane.openstack.schemas import SchemaVersions, StandardSchema

Schema = dict[str, Any]

LIST_FORM_BELOW = 12

UUID_KEY = "^[0-9a-fA-F-]{36}$"
NAME = "^[A-Z0-9_]+$"
GROUP_KEY = "[a-zA-Z0-9_-]{1,64}"

# PostgreSQL keeps no NUL in a text, so a name with one cannot be anybody's.
_OWNER: Schema = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[^\\x00]*$"}
_UUID: Schema = {"type": "string", "format": "uuid"}
_RESOURCES: Schema = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {NAME: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
_GENERATION: Schema = {"consumer_generation": {"type": ["integer", "null"]}}
_MAPPINGS: Schema = {
    "mappings": {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {GROUP_KEY: {"type": "array", "minItems": 1, "items": _UUID}},
    }
}
_TYPE: Schema = {"consumer_type": {"type": "string", "pattern": NAME, "minLength": 1, "maxLength": 255}}
_OWNERS: Schema = {"project_id": _OWNER, "user_id": _OWNER}


def closed(properties: Schema, *, optional: Schema | None = None) -> Schema:
    """An object with these properties, the optional ones, and no others."""
    return {
        "type": "object",
        "properties": properties | (optional or {}),
        "required": list(properties),
        "additionalProperties": False,
    }


def keyed(pattern: str, value: Schema, *, minimum: int = 0) -> Schema:
    """An object whose keys all have this form."""
    return {
        "type": "object",
        "minProperties": minimum,
        "patternProperties": {pattern: value},
        "additionalProperties": False,
    }


def _as_list() -> Schema:
    entry = closed({"resource_provider": closed({"uuid": _UUID}), "resources": _RESOURCES})
    return {"allocations": {"type": "array", "minItems": 1, "items": entry}}


def _as_dict(*, minimum: int) -> Schema:
    entry = closed({"resources": _RESOURCES}, optional={"generation": {"type": "integer"}})
    return {"allocations": keyed(UUID_KEY, entry, minimum=minimum)}


_STATE_12 = closed(_as_dict(minimum=1) | _OWNERS)
_STATE_13 = closed(_as_dict(minimum=0) | _OWNERS)
_STATE_28 = closed(_as_dict(minimum=0) | _OWNERS | _GENERATION)
_STATE_34 = closed(_as_dict(minimum=0) | _OWNERS | _GENERATION, optional=_MAPPINGS)
_STATE_38 = closed(_as_dict(minimum=0) | _OWNERS | _GENERATION | _TYPE, optional=_MAPPINGS)


def _many(state: Schema) -> StandardSchema:
    return StandardSchema(keyed(UUID_KEY, state, minimum=1))


ONE = SchemaVersions(
    (38, StandardSchema(_STATE_38)),
    (34, StandardSchema(_STATE_34)),
    (28, StandardSchema(_STATE_28)),
    (12, StandardSchema(_STATE_12)),
    (8, StandardSchema(closed(_as_list() | _OWNERS))),
    (0, StandardSchema(closed(_as_list()))),
)
"""PUT /allocations/{consumer}."""

MANY = SchemaVersions((38, _many(_STATE_38)), (34, _many(_STATE_34)), (28, _many(_STATE_28)), (13, _many(_STATE_13)))
"""POST /allocations."""

_MAX_INT = 2**31 - 1
_MAX_RATIO = 3.40282e38


def _whole(minimum: int) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": _MAX_INT}


_INVENTORY = closed(
    {"total": _whole(1)},
    optional={
        "reserved": _whole(0),
        "min_unit": _whole(1),
        "max_unit": _whole(1),
        "step_size": _whole(1),
        "allocation_ratio": {"type": "number", "maximum": _MAX_RATIO},
        # Allowed in each record, as where inventories are written alone; that of the provider counts.
        "resource_provider_generation": {"type": "integer"},
    },
)
_PROVIDER = closed({"resource_provider_generation": {"type": "integer"}, "inventories": keyed(NAME, _INVENTORY)})


def _reshape(state: Schema) -> StandardSchema:
    return StandardSchema(
        closed({"inventories": keyed(UUID_KEY, _PROVIDER, minimum=1), "allocations": keyed(UUID_KEY, state)})
    )


RESHAPE = SchemaVersions((38, _reshape(_STATE_38)), (34, _reshape(_STATE_34)), (30, _reshape(_STATE_28)))
"""POST /reshaper."""
