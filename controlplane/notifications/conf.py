"""Options of notifications: settings.KILONOVA read once into a frozen object."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings

PREFIX = "NOTIFICATION_"


@dataclass(frozen=True, slots=True)
class NotificationOptions:
    """Names in settings.KILONOVA are NOTIFICATION_ and these in capitals."""

    format: str = "versioned"
    events: tuple[str, ...] = ()
    log: bool = True
    timeout_s: float = 10.0
    attempts: int = 12
    deadline_s: float = 86400.0
    retention_days: float = 7.0
    allowed_networks: tuple[str, ...] = ()


def notification_options() -> NotificationOptions:
    """The options as settings have them now (tests override settings, so nothing is kept)."""
    given: Mapping[str, Any] = settings.KILONOVA
    names = (field.name for field in fields(NotificationOptions))
    return NotificationOptions(
        **{name: given[PREFIX + name.upper()] for name in names if PREFIX + name.upper() in given}
    )
