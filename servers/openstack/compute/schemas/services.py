"""What bodies about services may say."""

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import BOOLEAN, NAME, closed

_REASON = {"type": "string", "minLength": 1, "maxLength": 255}
_NAMED = {"host": NAME, "binary": NAME}

SERVICE_NAMED = CompiledSchema(closed(["host", "binary"], **_NAMED))
SERVICE_REASON = CompiledSchema(closed(["host", "binary", "disabled_reason"], **_NAMED, disabled_reason=_REASON))
SERVICE_FORCED = CompiledSchema(closed(["host", "binary", "forced_down"], **_NAMED, forced_down=BOOLEAN))
SERVICE_CHANGE = CompiledSchema(
    closed([], status={"enum": ["enabled", "disabled"]}, disabled_reason=_REASON, forced_down=BOOLEAN)
)
EXTERNAL_EVENTS = CompiledSchema(
    closed(
        ["events"],
        events={
            "type": "array",
            "minItems": 1,
            "maxItems": 1000,
            "items": closed(
                ["server_uuid", "name"],
                server_uuid={"type": "string", "format": "uuid"},
                name=NAME,
                status={"enum": ["failed", "completed", "in-progress"]},
                tag={"type": "string", "maxLength": 255},
            ),
        },
    )
)
