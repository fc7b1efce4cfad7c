"""What the Django admin saves and deletes by itself, without one of our services, is recorded from Django's signals.

The signals are sent inside the admin's transaction, so the entry is there exactly when the change is.
"""

from typing import Any

from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save

from controlplane.audit_log.recording.actor_scope import ADMIN, actor_scope_now
from controlplane.audit_log.recording.record import AuditChange, change_record, facts_of, target_of
from controlplane.infra.model_names import model_name, model_names

PLUMBING = frozenset({"admin", "sessions", "contenttypes", "audit_log", "work", "django_q"})
_BEFORE = "_audit_log_before"


def admin_edits_follow() -> None:
    """Called once, when the apps are ready."""
    pre_save.connect(_will_save, dispatch_uid="audit_log")
    post_save.connect(_saved, dispatch_uid="audit_log")
    post_delete.connect(_deleted, dispatch_uid="audit_log")
    m2m_changed.connect(_related, dispatch_uid="audit_log")


def _is_edited(sender: Any) -> bool:
    scope = actor_scope_now()
    if scope is None or scope.door != ADMIN or scope.is_inside:
        return False
    return sender._meta.app_label not in PLUMBING


def _kind(row: Model) -> str:
    return model_name(row).replace(" ", "_")[:40]


def _will_save(sender: Any, instance: Model, raw: bool = False, **_: Any) -> None:
    if not raw and _is_edited(sender):
        stored = sender._default_manager.filter(pk=instance.pk).first()
        instance.__dict__[_BEFORE] = facts_of(stored) if stored is not None else {}


def _saved(sender: Any, instance: Model, created: bool, raw: bool = False, **_: Any) -> None:
    if raw or not _is_edited(sender):
        return
    before = instance.__dict__.pop(_BEFORE, {})
    after = facts_of(instance)
    if created or before != after or _changed_secret(instance):
        verb = "create" if created else "update"
        change_record(AuditChange(f"{_kind(instance)}.{verb}", target_of(_kind(instance), instance), before, after))


def _changed_secret(row: Model) -> bool:
    """A password form saves nothing that may be shown; that it was changed is to be seen all the same."""
    return getattr(row, "_password", None) is not None


def _deleted(sender: Any, instance: Model, **_: Any) -> None:
    if _is_edited(sender):
        kind = _kind(instance)
        change_record(AuditChange(f"{kind}.delete", target_of(kind, instance), before=facts_of(instance)))


def _related(sender: Any, instance: Any, action: str, pk_set: set[Any] | None, model: Any, **_: Any) -> None:
    if action not in {"post_add", "post_remove", "post_clear"} or not isinstance(instance, Model):
        return
    if _is_edited(type(instance)):
        kind, verb = _kind(instance), action.removeprefix("post_")
        names = sorted(str(one) for one in model._default_manager.filter(pk__in=pk_set or ()))
        what = model_names(model).replace(" ", "_")
        change_record(AuditChange(f"{kind}.{what}_{verb}", target_of(kind, instance), after={what: names}))
