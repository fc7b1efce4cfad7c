"""Times as pages write them."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from controlplane.infra.reader_time import time_text, zone_name, zone_text
from controlplane.kernel.time_zones import zone_of

WINTER, SUMMER = datetime(2026, 1, 15, 23, 30, 5, tzinfo=UTC), datetime(2026, 7, 15, 23, 30, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "at", "text"),
    [
        ("UTC", WINTER, "2026-01-15 23:30:05 UTC"),
        ("Europe/Berlin", WINTER, "2026-01-16 00:30:05 UTC+1"),
        ("Europe/Berlin", SUMMER, "2026-07-16 01:30:05 UTC+2"),
        ("Europe/London", WINTER, "2026-01-15 23:30:05 UTC"),
        ("Asia/Kolkata", WINTER, "2026-01-16 05:00:05 UTC+5:30"),
        ("America/St_Johns", WINTER, "2026-01-15 20:00:05 UTC-3:30"),
    ],
)
def test_time_is_of_the_readers_clock_and_says_what_it_is_from_utc(zone: str, at: datetime, text: str) -> None:
    with timezone.override(zone_of(zone)):
        assert time_text(at) == text


def test_minute_and_clock() -> None:
    with timezone.override(zone_of("Asia/Tokyo")):
        assert time_text(WINTER, "minute") == "2026-01-16 08:30 UTC+9"
        assert time_text(WINTER, "clock") == "08:30:05 UTC+9"


def test_zone_is_named() -> None:
    with timezone.override(zone_of("Asia/Tokyo")):
        assert (zone_name(), zone_text()) == ("Asia/Tokyo", "Asia/Tokyo, UTC+9 now")
    with timezone.override(zone_of("UTC")):
        assert (zone_name(), zone_text()) == ("UTC", "UTC")
