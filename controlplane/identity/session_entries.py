"""Log-ins and log-outs of pages and of the Django admin, as entries of the audit log."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out

from controlplane.audit_log.recording.actor_scope import Actor, actor_scope_now
from controlplane.audit_log.recording.record import AuditChange, AuditTarget, change_record


def session_entries_follow() -> None:
    """Called once, when the apps are ready."""
    user_logged_in.connect(_logged_in, dispatch_uid="audit_log")
    user_logged_out.connect(_logged_out, dispatch_uid="audit_log")


def _logged_in(sender: Any, user: Any, **_: Any) -> None:
    _record("session.begin", user)


def _logged_out(sender: Any, user: Any, **_: Any) -> None:
    if user is not None:
        _record("session.end", user)


def _record(action: str, user: Any) -> None:
    """Only of a request: a test or a command that logs somebody in is none."""
    if actor_scope_now() is not None:
        target = AuditTarget("user", str(user.pk), user.get_username())
        change_record(AuditChange(action, target), actor=Actor(user.get_username(), user.pk))
