"""Declares the periodic work of notifications."""

from controlplane.infra.jobs import chore_register
from controlplane.infra.notifications.courier import notifications_deliver
from controlplane.infra.notifications.prune import notifications_prune


def chores_register() -> None:
    """Called once, when the apps are ready."""
    chore_register("notifications", every_s=1.0, run=notifications_deliver)
    chore_register("old notifications", every_s=3600.0, run=notifications_prune)
