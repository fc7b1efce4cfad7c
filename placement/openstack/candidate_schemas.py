"""Which query parameters GET /allocation_candidates has, per microversion."""

from typing import Any

from controlplane.openstack.schemas import SchemaVersions, StandardSchema

Schema = dict[str, Any]

_NUMBERED, _WORDED = "[1-9][0-9]*", "[a-zA-Z0-9_-]{1,64}"
_TEXT: Schema = {"type": "string"}
_LIMIT: Schema = {"limit": {"type": "string", "pattern": "^[1-9][0-9]*$", "minLength": 1}}
_POLICY: Schema = {"group_policy": {"type": "string", "enum": ["none", "isolate"]}}


def _flat(*names: str, more: Schema | None = None) -> StandardSchema:
    properties = dict.fromkeys(("resources", *names), _TEXT) | (more or {})
    return StandardSchema(
        {"type": "object", "properties": properties, "required": ["resources"], "additionalProperties": False}
    )


def _grouped(suffix: str, kinds: tuple[str, ...], *names: str) -> StandardSchema:
    return StandardSchema(
        {
            "type": "object",
            "properties": _LIMIT | _POLICY | dict.fromkeys(names, _TEXT),
            "patternProperties": {f"^{kind}({suffix})?$": _TEXT for kind in kinds},
            "additionalProperties": False,
        }
    )


_KINDS = ("resources", "required", "member_of")
_KINDS_31 = (*_KINDS, "in_tree")

CANDIDATES = SchemaVersions(
    (36, _grouped(_WORDED, _KINDS_31, "root_required", "same_subtree")),
    (35, _grouped(_WORDED, _KINDS_31, "root_required")),
    (33, _grouped(_WORDED, _KINDS_31)),
    (31, _grouped(_NUMBERED, _KINDS_31)),
    (25, _grouped(_NUMBERED, _KINDS)),
    (21, _flat("required", "member_of", more=_LIMIT)),
    (17, _flat("required", more=_LIMIT)),
    (16, _flat(more=_LIMIT)),
    (10, _flat()),
)
"""By the first minor version that has it."""
