"""The list of the audit log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.db.models import QuerySet

from controlplane.audit_log.filtersets import AuditLogFilterSet
from controlplane.audit_log.models import AuditLogEntry, AuditResult
from controlplane.audit_log.recording.actor_scope import DOORS
from controlplane.audit_log.selectors import audit_entries, audit_scope
from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.texts import translated
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.texts import gettext_noop
from servers.api.serializers.audit_log import AuditLogEntryOutput

PAGES = {
    "instance": "/instances/{id}/",
    "host": "/hosts/{id}/",
    "flavor": "/flavors/{id}/",
    "image": "/images/{id}/",
    "network": "/networks/{id}/",
    "router": "/routers/{id}/",
    "volume": "/volumes/{id}/",
    "policy": "/policies/{id}/",
    "project": "/projects/{id}/",
    "user": "/users/{id}/",
    "bulk_job": "/bulk-jobs/{id}/",
}
"""Where the page of a target is, by its kind."""


@dataclass(frozen=True, slots=True)
class FactChange:
    """One column on both sides; a side is None where it had none."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One entry as its reader may see it. `path` leads to the target; empty where it is gone or has no page."""

    entry: Mapping[str, Any]
    at: datetime
    changes: Sequence[FactChange]
    path: str

    @property
    def target(self) -> str:
        """Its name, or its id where it has none."""
        return str(self.entry["target_name"] or self.entry["target_id"])


def _rows(caller: Caller, _asked: Asked) -> QuerySet[AuditLogEntry]:
    return audit_entries(project_id=audit_scope(caller, sees_all=allows(caller, "audit_log:read_all")))


def _prepared(caller: Caller, entries: Sequence[Any], _asked: Asked) -> list[AuditRow]:
    """No query: an entry holds all that is shown of it."""
    shown = AuditLogEntryOutput(entries, many=True, context={"caller": caller}).data
    return [_row(entry, one) for entry, one in zip(entries, shown, strict=True)]


def _row(entry: AuditLogEntry, shown: Mapping[str, Any]) -> AuditRow:
    before, after = shown["before"], shown["after"]
    changes = [FactChange(name, before.get(name), after.get(name)) for name in {**before, **after}]
    is_gone = entry.action.endswith(".delete") and entry.target_kind != "instance"
    name = entry.target_name if entry.target_kind == "host" else entry.target_id
    path = "" if is_gone or not name else PAGES.get(entry.target_kind, "").format(id=quote(name, safe=""))
    return AuditRow(shown, entry.occurred_at, changes, path)


AUDIT_LOG = ListDeclaration(
    name="audit-log",
    thing="change",
    section="audit-log",
    cells="dashboard/audit_log/cells.html",
    columns=(
        Column("when", gettext_noop("When"), lambda row: row.at, ("id",), css="nowrap", is_fixed=True),
        Column("who", gettext_noop("Who"), lambda row: row.entry["user_name"], ("user_name",), css="name"),
        Column("action", gettext_noop("Action"), lambda row: row.entry["action"], ("action",)),
        Column("target", gettext_noop("Target"), lambda row: row.target, ("target_kind", "target_name"), css="wrap"),
        Column("result", gettext_noop("Result"), lambda row: row.entry["result"], ("result",), is_default=False),
        Column("reason", gettext_noop("Reason"), lambda row: row.entry["reason"], is_default=False, css="wrap"),
        Column("door", gettext_noop("Door"), lambda row: row.entry["door"], ("door",), hides_small=True),
        Column(
            "address",
            gettext_noop("Address"),
            lambda row: row.entry["address"],
            ("address",),
            is_default=False,
            is_for_admins=True,
        ),
        Column("before", gettext_noop("Before"), lambda row: row.entry["before"], is_default=False, css="wrap"),
        Column("after", gettext_noop("After"), lambda row: row.entry["after"], is_default=False, css="wrap"),
        Column(
            "request", gettext_noop("Request"), lambda row: row.entry["request_id"], ("request_id",), False, css="mono"
        ),
        Column(
            "number",
            gettext_noop("Number"),
            lambda row: row.entry["number"],
            ("number",),
            is_default=False,
            is_number=True,
        ),
    ),
    rows=_rows,
    prepare=_prepared,
    filterset=lambda _caller: AuditLogFilterSet,
    filters=(
        ListFilter("user", gettext_noop("Who"), is_first=True, placeholder=gettext_noop("Name or id")),
        ListFilter(
            "action", gettext_noop("Action"), is_first=True, placeholder=gettext_noop("instance.stop, or flavor.")
        ),
        ListFilter("kind", gettext_noop("Kind of target"), placeholder=gettext_noop("instance, host ...")),
        ListFilter("target", gettext_noop("Target"), placeholder=gettext_noop("Exact name or id")),
        ListFilter("door", gettext_noop("Door"), choices=lambda _caller: [(one, translated(one)) for one in DOORS]),
        ListFilter(
            "result",
            gettext_noop("Result"),
            choices=lambda _caller: [(one.value, translated(one.value)) for one in AuditResult],
        ),
        ListFilter("request_id", gettext_noop("Request"), placeholder="req-…"),
        ListFilter("after", gettext_noop("From")),
        ListFilter("before", gettext_noop("Until")),
    ),
    sort="-when",
    search_hint=gettext_noop("Who, action, target, request, reason …"),
    before="dashboard/audit_log/before.html",
    empty="dashboard/audit_log/empty.html",
)
