"""Declares the periodic work of notifications."""

from controlplane.notifications.prune import notifications_prune
from controlplane.notifications.sender import notifications_deliver
from controlplane.work.jobs import periodic_task_register

HAS_SOMETHING = (
    "EXISTS (SELECT 1 FROM notifications_notification WHERE fanned_out_at IS NULL)"
    " OR EXISTS (SELECT 1 FROM notifications_delivery WHERE state IN ('waiting', 'running'))"
)


def periodic_tasks_register() -> None:
    """Called once, when the apps are ready."""
    periodic_task_register("notifications", every_s=1.0, run=notifications_deliver, asks=HAS_SOMETHING)
    periodic_task_register("old notifications", every_s=3600.0, run=notifications_prune)
