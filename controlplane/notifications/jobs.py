"""Declares the periodic work of notifications."""

from controlplane.infra.jobs import chore_register
from controlplane.infra.notifications.courier import notifications_deliver
from controlplane.infra.notifications.prune import notifications_prune

HAS_SOMETHING = (
    "EXISTS (SELECT 1 FROM infra_notification WHERE offered_at IS NULL)"
    " OR EXISTS (SELECT 1 FROM infra_delivery WHERE state IN ('waiting', 'running'))"
)


def chores_register() -> None:
    """Called once, when the apps are ready."""
    chore_register("notifications", every_s=1.0, run=notifications_deliver, asks=HAS_SOMETHING)
    chore_register("old notifications", every_s=3600.0, run=notifications_prune)
