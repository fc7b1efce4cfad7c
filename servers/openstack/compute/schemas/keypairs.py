"""What a body about a new key pair may say, for each microversion."""

from typing import Any

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import NAME, closed

TYPES_SINCE = 2
USERS_SINCE = 10
IMPORT_ONLY_SINCE = 92

_PLAIN: dict[str, Any] = {"name": NAME, "public_key": {"type": "string", "maxLength": 65535}}
_TYPED = {**_PLAIN, "type": {"type": "string", "enum": ["ssh", "x509"]}}
_OF_USER = {**_TYPED, "user_id": {"type": "string", "minLength": 1, "maxLength": 255}}
_FORMS = (
    (IMPORT_ONLY_SINCE, CompiledSchema(closed(["keypair"], keypair=closed(["name", "public_key"], **_OF_USER)))),
    (USERS_SINCE, CompiledSchema(closed(["keypair"], keypair=closed(["name"], **_OF_USER)))),
    (TYPES_SINCE, CompiledSchema(closed(["keypair"], keypair=closed(["name"], **_TYPED)))),
    (0, CompiledSchema(closed(["keypair"], keypair=closed(["name"], **_PLAIN)))),
)


def keypair_create_schema(minor: int) -> CompiledSchema:
    """For a new key pair."""
    return next(schema for since, schema in _FORMS if minor >= since)
