"""Notes on a piece of work: its state while it is open, and how often it was taken."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from controlplane.work.control import work_status


def times_taken(work: Any) -> int:
    """Return how often somebody took it. Its attempt also counts a cancellation, or its end by the reconciler."""
    is_ended_from_outside = work.state == "cancelled" or (work.state == "failed" and "step" not in work.outcome)
    return int(work.attempt) - (1 if is_ended_from_outside else 0)


def work_notes(work: Any, now: datetime, *, lapsed: str) -> list[str]:
    """Return a note when its deadline passed, or when its owner sends no heartbeat: then `lapsed`."""
    status = work_status(work, now)
    if status.is_overdue:
        return [_("Past its deadline: it is about to be ended.")]
    if status.is_lapsed:
        return [lapsed]
    return []
