"""What bodies of the Identity API may say. What is not kept here is refused, so that nobody believes it was taken."""

from typing import Any

from controlplane.openstack.schemas import CompiledSchema

_TEXT = {"type": "string", "maxLength": 4096}
_NAME = {"type": "string", "minLength": 1, "maxLength": 255}
_ID = {"type": "string", "minLength": 1, "maxLength": 64}
_MAYBE_ID = {"type": ["string", "null"], "maxLength": 64}
_DOMAIN = {"type": "object", "properties": {"id": _NAME, "name": _NAME}, "additionalProperties": False}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_USER_KEY = {"id": _ID, "name": _NAME, "domain": _DOMAIN}
_PROJECT_SCOPE = _closed([], id=_ID, name=_NAME, domain=_DOMAIN)

AUTH = CompiledSchema(
    _closed(
        ["auth"],
        auth=_closed(
            ["identity"],
            identity=_closed(
                ["methods"],
                methods={"type": "array", "items": {"type": "string", "maxLength": 40}, "minItems": 1, "maxItems": 8},
                password=_closed(["user"], user=_closed(["password"], password=_TEXT, **_USER_KEY)),
                totp=_closed(["user"], user=_closed(["passcode"], passcode=_TEXT, **_USER_KEY)),
                token=_closed(["id"], id=_TEXT),
                application_credential=_closed(
                    ["secret"], id=_ID, name=_NAME, secret=_TEXT, user=_closed([], **_USER_KEY)
                ),
            ),
            scope={
                "anyOf": [
                    {"const": "unscoped"},
                    {
                        "type": "object",
                        "properties": {
                            "project": _PROJECT_SCOPE,
                            "domain": _DOMAIN,
                            "system": _closed(["all"], all={"const": True}),
                            "unscoped": {"type": "object"},
                        },
                        "minProperties": 1,
                        "maxProperties": 1,
                        "additionalProperties": False,
                    },
                ]
            },
        ),
    )
)

_PROJECT = {
    "name": _NAME,
    "description": {"type": ["string", "null"], "maxLength": 255},
    "enabled": {"type": "boolean"},
    "domain_id": _MAYBE_ID,
    "parent_id": _MAYBE_ID,
    "is_domain": {"const": False},
    "tags": {"type": "array", "maxItems": 0},
    "options": {"type": "object", "maxProperties": 0},
}
PROJECT_CREATE = CompiledSchema(_closed(["project"], project=_closed(["name"], **_PROJECT)))
PROJECT_UPDATE = CompiledSchema(_closed(["project"], project=_closed([], **_PROJECT)))

_GROUP = {
    "name": {**_NAME, "maxLength": 64},
    "description": {"type": ["string", "null"], "maxLength": 255},
    "domain_id": _MAYBE_ID,
}
GROUP_CREATE = CompiledSchema(_closed(["group"], group=_closed(["name"], **_GROUP)))
GROUP_UPDATE = CompiledSchema(_closed(["group"], group=_closed([], **_GROUP)))

_USER = {
    "name": _NAME,
    "password": {"type": ["string", "null"], "maxLength": 4096},
    "email": {"type": ["string", "null"], "maxLength": 254},
    "enabled": {"type": "boolean"},
    "default_project_id": _MAYBE_ID,
    "project_id": _MAYBE_ID,
    "domain_id": _MAYBE_ID,
    "options": {"type": "object", "maxProperties": 0},
}
USER_CREATE = CompiledSchema(_closed(["user"], user=_closed(["name"], **_USER)))
USER_UPDATE = CompiledSchema(_closed(["user"], user=_closed([], **_USER)))
PASSWORD_CHANGE = CompiledSchema(
    _closed(["user"], user=_closed(["password", "original_password"], password=_TEXT, original_password=_TEXT))
)

APPLICATION_CREDENTIAL_CREATE = CompiledSchema(
    _closed(
        ["application_credential"],
        application_credential=_closed(
            ["name"],
            name=_NAME,
            description={"type": ["string", "null"], "maxLength": 255},
            secret={"type": ["string", "null"], "maxLength": 255},
            expires_at={"type": ["string", "null"], "maxLength": 40},
            unrestricted={"type": ["boolean", "null"]},
            roles={
                "type": ["array", "null"],
                "maxItems": 16,
                "items": _closed([], id=_ID, name=_NAME, domain=_DOMAIN, domain_id=_MAYBE_ID),
            },
            access_rules={"type": ["array", "null"]},
            project_id=_MAYBE_ID,
        ),
    )
)
