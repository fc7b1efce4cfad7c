"""Small pieces of the page of work: kinds in words, and how far off a time is, before or behind us."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone

from controlplane.dashboard.drift import rows as drift_rows
from controlplane.dashboard.templatetags.pages import age
from controlplane.dashboard.work import rows as work_rows

register = template.Library()


@register.filter
def kind_label(kind: str) -> str:
    return work_rows.kind_label(kind)


@register.filter
def until(at: datetime) -> str:
    """'in 8 min', or '12 s ago' for what is behind us."""
    seconds = int((at - timezone.now()).total_seconds())
    if seconds < 0:
        return age(at)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"in {seconds // size} {unit}"
    return f"in {seconds} s"


@register.filter
def evidence(facts: Mapping[str, Any]) -> str:
    """Facts as indented JSON."""
    return drift_rows.evidence_text(facts)


@register.filter
def due(at: datetime) -> str:
    """'in 8 min'; 'within seconds' for what is about to be done."""
    return until(at) if at > timezone.now() else "at the next poll"
