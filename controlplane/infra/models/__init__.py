"""Rows of the ground floor."""

from controlplane.infra.models.base import Timestamped, UuidKeyed
from controlplane.infra.models.doorbell import Doorbell
from controlplane.infra.models.heal import Heal
from controlplane.infra.models.notification import (
    OPEN_DELIVERIES,
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    Notification,
    Priority,
    Webhook,
)
from controlplane.infra.models.solo_lease import SoloLease
from controlplane.infra.models.work import Work, WorkState

__all__ = [
    "OPEN_DELIVERIES",
    "Delivery",
    "DeliveryAttempt",
    "DeliveryState",
    "Doorbell",
    "Heal",
    "Notification",
    "Priority",
    "SoloLease",
    "Timestamped",
    "UuidKeyed",
    "Webhook",
    "Work",
    "WorkState",
]
