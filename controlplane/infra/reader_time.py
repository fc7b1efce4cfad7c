"""Times as whoever reads a page wants them. What programs are answered is never read in a zone: it stays UTC.

A page's zone is that of Django's `timezone.override`, which a middleware of identity sets for the panel and the admin.
"""

from datetime import datetime
from typing import Literal

from django.utils import timezone

from controlplane.kernel.texts import Translate, gettext_noop, in_english

Precision = Literal["second", "minute", "clock"]
FORMATS: dict[Precision, str] = {"second": "%Y-%m-%d %H:%M:%S", "minute": "%Y-%m-%d %H:%M", "clock": "%H:%M:%S"}


def time_text(at: datetime, precision: Precision = "second") -> str:
    """`2026-03-29 14:05:09 UTC+2`: in the reader's zone, with what that zone is from UTC at that time."""
    there = timezone.localtime(at)
    return f"{there.strftime(FORMATS[precision])} {offset_text(there)}"


def offset_text(at: datetime) -> str:
    """`UTC`, `UTC+1`, `UTC+5:30`, `UTC-3`. Abbreviations such as CST stand for several zones, so there are none."""
    offset = at.utcoffset()
    minutes = int(offset.total_seconds()) // 60 if offset is not None else 0
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "") if minutes else "UTC"


def zone_name() -> str:
    """The reader's zone by its IANA name."""
    return str(timezone.get_current_timezone())


def zone_text(translate: Translate = in_english) -> str:
    """`Europe/Berlin, UTC+1 now`, or `UTC`."""
    name, now = zone_name(), offset_text(timezone.localtime())
    return name if name == now else translate(gettext_noop("{zone}, {offset} now")).format(zone=name, offset=now)
