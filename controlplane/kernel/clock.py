"""Time as a parameter: code that needs 'now' takes a Clock, so that tests can hold it still.

Leases do not use it: they compare with the database's own clock.
"""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock, aware, in UTC."""
    return datetime.now(UTC)
