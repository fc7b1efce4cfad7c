"""Time zones by their IANA names: which there are, and what is wrong with a name."""

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

UTC_NAME = "UTC"
# Older names of places that are there by their region, and offsets whose sign is the wrong way round.
NOT_OFFERED = ("Brazil/", "Canada/", "Chile/", "Etc/", "Mexico/", "SystemV/", "US/", "posix/", "right/")


@cache
def _known() -> frozenset[str]:
    return frozenset(available_timezones()) | {UTC_NAME}


@cache
def time_zones_offered() -> tuple[str, ...]:
    """UTC first, then places by region. Every other name that the system knows is accepted too."""
    return (UTC_NAME, *sorted(name for name in _known() if "/" in name and not name.startswith(NOT_OFFERED)))


def time_zone_problem(name: str) -> str:
    """What is wrong with it; empty for a name that the system knows."""
    return "" if name in _known() else "must be a time zone by its IANA name, such as Europe/Berlin or UTC"


@cache
def zone_of(name: str) -> ZoneInfo:
    """The zone; UTC for a name that the system knows no longer."""
    return ZoneInfo(name if name in _known() else UTC_NAME)
