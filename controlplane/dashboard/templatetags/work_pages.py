"""Small pieces of the page of work: kinds in words, and how far off a time is, before or behind us."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.translation import gettext

from controlplane.dashboard.drift import rows as drift_rows
from controlplane.dashboard.templatetags.pages import age
from controlplane.dashboard.texts import translated
from controlplane.dashboard.work import rows as work_rows
from controlplane.kernel.texts import gettext_noop

register = template.Library()
TO_COME = (
    (gettext_noop("in %(number)s d"), 86400),
    (gettext_noop("in %(number)s h"), 3600),
    (gettext_noop("in %(number)s min"), 60),
    (gettext_noop("in %(number)s s"), 1),
)
"""How far off, by the seconds of each unit; the last is for the rest."""


@register.filter
def kind_label(kind: str) -> str:
    """In the reader's language."""
    return translated(work_rows.kind_label(kind))


@register.filter
def until(at: datetime) -> str:
    """'in 8 min', or '12 s ago' for what is behind us."""
    seconds = int((at - timezone.now()).total_seconds())
    if seconds < 0:
        return age(at)
    text, size = next((text, size) for text, size in TO_COME if seconds >= size or size == 1)
    return gettext(text) % {"number": seconds // size}


@register.filter
def evidence(facts: Mapping[str, Any]) -> str:
    """Facts as indented JSON."""
    return drift_rows.evidence_text(facts)


@register.filter
def due(at: datetime) -> str:
    """'in 8 min'; 'within seconds' for what is about to be done."""
    return until(at) if at > timezone.now() else gettext("at the next poll")
