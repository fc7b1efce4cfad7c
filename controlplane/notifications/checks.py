"""System checks: what a setting of notifications names, and nobody sends."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error

from controlplane.notifications.conf import notification_options
from controlplane.notifications.event_types import patterns_of_none


def event_pattern_problems(patterns: Sequence[str]) -> list[CheckMessage]:
    """One for each pattern that is of no event."""
    hint = "docs/notifications.md lists the events."
    return [
        Error(f"NOTIFICATION_EVENTS: no event is called {each!r:.100}.", hint=hint, id="notifications.E001")
        for each in patterns_of_none(patterns)
    ]


def check_event_patterns(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return event_pattern_problems(notification_options().events)
