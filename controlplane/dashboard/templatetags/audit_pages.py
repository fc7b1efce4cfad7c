"""Entries of the audit log in words."""

import json
from typing import Any

from django import template
from django.utils.translation import gettext

from controlplane.audit_log.selectors import audit_entries_of, audit_scope
from controlplane.identity.policy import allows
from servers.api.serializers.audit_log import AuditLogEntryOutput

register = template.Library()
HISTORY_SHOWN = 8
_NOTHING: tuple[Any, ...] = (None, "", [], {})


@register.inclusion_tag("components/audit_entries.html", takes_context=True)
def who_changed(context: template.Context, kind: str, target: object) -> dict[str, Any]:
    """The newest entries about one thing, as the caller may see them; nothing for who may not read it. One query."""
    caller = context.get("caller")
    if caller is None or not allows(caller, "audit_log:read"):
        return {"is_hidden": True}
    scope = audit_scope(caller, sees_all=allows(caller, "audit_log:read_all"))
    entries = audit_entries_of(kind=kind, ids=[str(target)], project_id=scope, limit=HISTORY_SHOWN)
    if scope is not None and not entries:
        return {"is_hidden": True}  # others may have changed it, of whom the caller learns nothing
    shown = AuditLogEntryOutput(entries, many=True, context={"caller": caller}).data
    rows = [{**one, "occurred_at": entry.occurred_at} for entry, one in zip(entries, shown, strict=True)]
    return {"audit_entries": rows, "kind": kind, "target": target}


@register.filter
def audit_name(column: str) -> str:
    """The name of a column: "Memory MiB"."""
    return column.replace("_mib", " MiB").replace("_gib", " GiB").replace("_", " ").capitalize().replace("mib", "MiB")


@register.filter
def audit_verb(action: str) -> str:
    """What was done, without to what: "credential revoke"."""
    return action.partition(".")[2].replace("_", " ")


@register.filter
def audit_value(value: Any) -> str:
    """A value of an entry on one line; of keys and values those that say something."""
    if value in _NOTHING:
        return gettext("nothing")
    match value:
        case bool():
            return gettext("yes") if value else gettext("no")
        case str():
            return value
        case dict():
            said = ((name, one) for name, one in value.items() if one not in _NOTHING)
            return ", ".join(f"{name}: {audit_value(one)}" for name, one in said) or gettext("nothing")
        case _:
            return json.dumps(value, ensure_ascii=False, sort_keys=True)
