"""Times that somebody types into a list's filter: without an offset they are of the reader's zone."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.utils import timezone

from controlplane.infra.list_filters import MomentField
from controlplane.kernel.moments import in_utc

MINUTES = "%Y-%m-%dT%H:%M"
"""What a browser's field for date and time takes."""


def time_asked(text: str) -> datetime | None:
    """The time that a filter means by it, on the reader's clock; None for what is none, or is twice or never on it."""
    try:
        at = MomentField(required=False).clean(text)
        return timezone.localtime(at) if at is not None else None
    except (ValidationError, OverflowError):
        return None


def with_offset(text: str) -> str:
    """The same time in UTC, so that a link, a saved view and a call of the API mean it wherever they are read. What is
    no time stays as it was typed.
    """
    at = time_asked(text)
    return in_utc(at).isoformat().replace("+00:00", "Z") if at is not None else text


def field_text(text: str) -> str:
    """The same as the browser's field takes it, on the reader's clock."""
    at = time_asked(text)
    return at.strftime(MINUTES) if at is not None else text
