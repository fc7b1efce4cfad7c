"""`audited`: a service that changes something for a person says so, once, where it is defined.

    @audited("flavor.update", Flavor, by="flavor_id")
    def flavor_update(*, flavor_id: uuid.UUID, changes: Mapping[str, Any]) -> Flavor: ...

While somebody acts, the service runs in a transaction together with its entry: the row as it was found before, and as
it is after. While nobody does (the control plane's own work), the decorator costs one look at a variable. Of services
that call each other, the one that was asked for is recorded.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from django.db.models import Model

from controlplane.audit_log.recording.actor_scope import COMMAND, Actor, ActorScope, actor_scope_now
from controlplane.audit_log.recording.record import (
    AuditChange,
    AuditTarget,
    changes_record,
    facts_of,
    refusal_note,
    target_of,
)
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, Forbidden

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class AuditRule:
    """How entries of a service are made. `by` names the argument that has the row or its key, and `key` the column.

    `also`: arguments that an entry shows beside the row's columns. `row`: the new row in what the service returns,
    where it does not return just that.

    `is_apart`: the service commits by itself, more than once or after minutes, so its entry is written after it, in a
    transaction of its own. `by_itself`: it writes its entry with `change_record(..., of=action)`, in its transaction.
    """

    action: str
    model: type[Model] | None = None
    by: str = ""
    key: str = "pk"
    also: tuple[str, ...] = ()
    row: Callable[[Any], Any] = field(default=lambda result: result)
    is_apart: bool = False
    by_itself: bool = False

    def found(self, arguments: Mapping[str, Any]) -> list[Model]:
        """The rows that the arguments name, as they are now."""
        named = arguments.get(self.by) if self.by else None
        if named is None or self.model is None:
            return []
        if isinstance(named, list | tuple | set | frozenset):
            return list(self.model._default_manager.filter(**{f"{self.key}__in": list(named)}).order_by("pk"))
        value = named.pk if isinstance(named, Model) else named
        return list(self.model._default_manager.filter(**{self.key: value})[:1])

    def unnamed(self, kind: str, arguments: Mapping[str, Any]) -> AuditTarget:
        """The target of this kind, where there is no row of it."""
        named = arguments.get(self.by) if self.by else arguments.get("name", arguments.get("host", ""))
        if isinstance(named, Model):
            return target_of(kind, named)
        return AuditTarget(kind, "" if named is None else str(named))


@dataclass(frozen=True, slots=True)
class AuditCall:
    """One call of a service, with its arguments by name. `action` is the rule's, with the arguments put in."""

    rule: AuditRule
    action: str
    arguments: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of target: what stands before the first dot of the action."""
        return self.action.partition(".")[0]


def audited(
    action: str,
    model: type[Model] | None = None,
    *,
    by: str = "",
    key: str = "pk",
    also: tuple[str, ...] = (),
    row: Callable[[Any], Any] = lambda result: result,
    is_apart: bool = False,
    by_itself: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record each call that a person asked for. `action` may hold `{argument}`, as the actions of instances do."""
    rule = AuditRule(action, model, by, key, also, row, is_apart, by_itself)

    def decorate(service: Callable[P, R]) -> Callable[P, R]:
        names = list(inspect.signature(service).parameters)

        @functools.wraps(service)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            scope = actor_scope_now()
            if scope is None or scope.is_inside:
                return service(*args, **kwargs)
            arguments = {**dict(zip(names, args, strict=False)), **kwargs}
            _name_actor(scope, arguments)
            return _run(rule, scope, arguments, lambda: service(*args, **kwargs))

        recorded.audit_rule = rule  # type: ignore[attr-defined]  # read by tests and documents
        return recorded

    return decorate


def _name_actor(scope: ActorScope, arguments: Mapping[str, Any]) -> None:
    """A door that named nobody handed the caller to the service; and a command that acts for a user names the user."""
    caller = arguments.get("caller")
    scope.on_behalf = None
    if caller is not None and (scope.door == COMMAND or scope.who() is None):
        scope.on_behalf = Actor(caller.username, caller.user_id, caller.own_project_id)


def _run(rule: AuditRule, scope: ActorScope, arguments: Mapping[str, Any], service: Callable[[], R]) -> R:
    action = rule.action.format(**{name: str(value)[:40] for name, value in arguments.items()})
    call = AuditCall(rule, action, arguments)
    seen: list[AuditTarget] = []

    def both() -> R:
        before = rule.found(arguments)
        seen[:] = [target_of(call.kind, one) for one in before]
        facts = {str(one.pk): facts_of(one) for one in before}
        result = service()
        if not rule.by_itself:
            after = _rows_after(rule, arguments, result)
            changes_record(_changes(call, facts, seen, after))
        return result

    scope.is_inside, scope.under_way = True, rule.action
    try:
        return both() if rule.is_apart or rule.by_itself else in_transaction(both)
    except (Forbidden, Conflict) as error:
        for target in seen or [rule.unnamed(call.kind, arguments)]:
            refusal_note(call.action, target, error.message)
        raise
    finally:
        scope.is_inside, scope.under_way, scope.on_behalf = False, "", None


def _changes(
    call: AuditCall, before: Mapping[str, Mapping[str, Any]], seen: Iterable[AuditTarget], rows: Iterable[Model]
) -> list[AuditChange]:
    rule = call.rule
    after = {str(one.pk): one for one in rows}
    also = {name: call.arguments[name] for name in rule.also if name in call.arguments}
    targets = {target.id: target for target in seen} | {key: target_of(call.kind, one) for key, one in after.items()}
    if not targets:
        return [AuditChange(call.action, rule.unnamed(call.kind, call.arguments), after=also)]
    changes = []
    for key, target in targets.items():
        now = facts_of(after[key]) if key in after else {}
        changes.append(AuditChange(call.action, target, before.get(key, {}), {**now, **also} if now or also else {}))
    return changes


def _rows_after(rule: AuditRule, arguments: Mapping[str, Any], result: Any) -> list[Model]:
    if rule.by:
        return rule.found(arguments)
    rows = rule.row(result)
    return [one for one in (rows if isinstance(rows, list | tuple) else [rows]) if isinstance(one, Model)]
