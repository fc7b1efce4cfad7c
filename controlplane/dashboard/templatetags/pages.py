"""Small pieces of pages: a status as a pill, ages and durations for people."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone

from servers.domain.states import api_status

register = template.Library()


@register.inclusion_tag("components/status.html")
def status_pill(instance: Any) -> dict[str, str]:
    """The API's status, and the task while there is one."""
    return {"status": api_status(instance.vm_state, instance.task_state), "task": instance.task_state}


@register.filter
def duration(seconds: float) -> str:
    """'340 ms', '2.4 s', '3 min 5 s'."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


@register.filter
def age(at: datetime | None) -> str:
    """How long ago, in the largest fitting unit."""
    if at is None:
        return ""
    seconds = max(0, int((timezone.now() - at).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@register.filter
def micros(value: int) -> str:
    """Microseconds for people."""
    return duration(value / 1_000_000) if value >= 1000 else f"{value} µs"
