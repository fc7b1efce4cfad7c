"""Entries are written here and nowhere else, in the transaction of the change that they record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Model

from controlplane.audit_log.entry_hash import clean_text, is_secret, storable
from controlplane.audit_log.models import AuditLogEntry, AuditResult
from controlplane.audit_log.recording.actor_scope import Actor, actor_scope_now
from controlplane.infra.request_id import current_request_id

VOLATILE = frozenset(
    {"id", "created_at", "updated_at", "last_seen_at", "last_seen_up", "report_count", "down_noted_at"}
)
"""Columns that change by themselves, or say nothing to a reader."""
Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditTarget:
    """What was changed. `project_id` is whose it is; empty for what belongs to the installation."""

    kind: str
    id: str = ""
    name: str = ""
    project_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class AuditChange:
    """One change. `before` and `after` are the facts on both sides; what is equal in both is not stored."""

    action: str
    target: AuditTarget
    before: Facts = field(default_factory=dict)
    after: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """A change that was refused to somebody."""

    actor: Actor
    change: AuditChange
    reason: str


def changes_record(changes: Sequence[AuditChange], *, actor: Actor | None = None, door: str = "", of: str = "") -> None:
    """Write an entry for each, in one statement. Nothing where nobody acts, as in the control plane's own work; and
    with `of` only while the service of this action is the one that was asked for.
    """
    scope = actor_scope_now()
    if of and (scope is None or scope.under_way != of):
        return
    who = actor or (scope.who() if scope else None)
    if who is None or not changes:
        return
    rows = [_entry(who, change, door=door or (scope.door if scope else ""), address=_address()) for change in changes]
    AuditLogEntry.objects.bulk_create(rows, batch_size=200)


def change_record(change: AuditChange, *, actor: Actor | None = None, door: str = "", of: str = "") -> None:
    """Write one entry. Arguments as in `changes_record`."""
    changes_record([change], actor=actor, door=door, of=of)


def refusal_note(action: str, target: AuditTarget, reason: str) -> None:
    """Note that the actor was refused; it is written when the scope ends."""
    scope = actor_scope_now()
    who = scope.who() if scope else None
    if scope is not None and who is not None:
        scope.refusals.append(RefusedChange(who, AuditChange(action, target), reason))


def refusals_write() -> None:
    """Write what was noted, in a transaction of its own."""
    scope = actor_scope_now()
    if scope is None or not scope.refusals:
        return
    rows = []
    for noted in scope.refusals:
        row = _entry(noted.actor, noted.change, door=scope.door, address=scope.address)
        row.result, row.reason = AuditResult.REFUSED, clean_text(noted.reason)
        rows.append(row)
    scope.refusals.clear()
    AuditLogEntry.objects.bulk_create(rows)


def _address() -> str:
    scope = actor_scope_now()
    return scope.address if scope else ""


def _entry(who: Actor, change: AuditChange, *, door: str, address: str) -> AuditLogEntry:
    before, after = _differing(change.before, change.after)
    return AuditLogEntry(
        action=clean_text(change.action, 60),
        user_id=who.user_id,
        user_name=clean_text(who.name, 200),
        user_project_id=who.project_id,
        door=door,
        address=clean_text(address, 64),
        request_id=current_request_id()[:60],
        target_kind=change.target.kind,
        target_id=clean_text(change.target.id, 255),
        target_name=clean_text(change.target.name, 255),
        project_id=change.target.project_id,
        before=before,
        after=after,
    )


def _differing(before: Facts, after: Facts) -> tuple[dict[str, Any], dict[str, Any]]:
    old = {name: storable(name, value) for name, value in before.items()}
    new = {name: storable(name, value) for name, value in after.items()}
    if not old or not new:
        return old, new
    names = [name for name in {**old, **new} if before.get(name) != after.get(name) or (name in old) != (name in new)]
    return {name: old[name] for name in names if name in old}, {name: new[name] for name in names if name in new}


def facts_of(row: Model) -> dict[str, Any]:
    """The columns of a row that an entry may show: no secret, and nothing that changes by itself."""
    facts = {}
    for column in row._meta.concrete_fields:
        if column.name in VOLATILE or column.primary_key or is_secret(column.name):
            continue
        value = row.__dict__.get(column.attname)
        if not hasattr(value, "resolve_expression"):
            facts[column.attname] = value
    return facts


def target_of(kind: str, row: Model) -> AuditTarget:
    """The row as what was changed."""
    project = row.pk if row._meta.label == "identity.Project" else row.__dict__.get("project_id")
    name = next((str(row.__dict__[name]) for name in ("name", "username", "host") if row.__dict__.get(name)), str(row))
    return AuditTarget(kind, str(row.pk), name, project if isinstance(project, UUID) else None)
