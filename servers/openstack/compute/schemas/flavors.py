"""What bodies about flavors may say."""

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import BOOLEAN, MAYBE_LONG_TEXT, NAME, closed, whole

DESCRIBED_SINCE = 55

_ID = {
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^(?! )[a-zA-Z0-9. _-]+(?<! )$"},
        {"type": ["integer", "null"]},
    ]
}
_FLAVOR = {
    "name": NAME,
    "id": _ID,
    "ram": whole(1),
    "vcpus": whole(1),
    "disk": whole(0),
    "OS-FLV-EXT-DATA:ephemeral": whole(0),
    "swap": whole(0),
    "rxtx_factor": {
        "type": ["number", "string"],
        "pattern": r"^[0-9]{1,9}(\.[0-9]{1,9})?$",
        "exclusiveMinimum": 0,
        "maximum": 3.4e38,
    },
    "os-flavor-access:is_public": BOOLEAN,
}
_NEEDED = ["name", "ram", "vcpus", "disk"]
_CREATE = CompiledSchema(closed(["flavor"], flavor=closed(_NEEDED, **_FLAVOR)))
_CREATE_DESCRIBED = CompiledSchema(closed(["flavor"], flavor=closed(_NEEDED, **_FLAVOR, description=MAYBE_LONG_TEXT)))

FLAVOR_UPDATE = CompiledSchema(closed(["flavor"], flavor=closed(["description"], description=MAYBE_LONG_TEXT)))

_SPECS = {
    "type": "object",
    "patternProperties": {"^[a-zA-Z0-9\\-_:. ]{1,255}$": {"type": ["string", "number"], "maxLength": 255}},
    "additionalProperties": False,
}
SPECS_WRITE = CompiledSchema(closed(["extra_specs"], extra_specs=_SPECS))
SPEC_WRITE = CompiledSchema({**_SPECS, "minProperties": 1, "maxProperties": 1})

_TENANT = closed(["tenant"], tenant=NAME)
ACCESS_ACTION = CompiledSchema(
    {
        **closed([], addTenantAccess=_TENANT, removeTenantAccess=_TENANT),
        "minProperties": 1,
        "maxProperties": 1,
    }
)


def flavor_create_schema(minor: int) -> CompiledSchema:
    """For a new flavor."""
    return _CREATE_DESCRIBED if minor >= DESCRIBED_SINCE else _CREATE
