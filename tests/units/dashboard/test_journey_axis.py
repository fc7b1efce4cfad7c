"""The axis of a journey: lengths that read well, places of bars on it."""

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.dashboard.instances.journey.axis import MIN_WIDTH, WIDTH, nice_length_s, place_section
from controlplane.dashboard.instances.journey.tracks import Section, Span, Tone, Track
from controlplane.dashboard.templatetags.journey_pages import tick_label

BEGAN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def track(*spans: tuple[float, float | None]) -> Track:
    parts = tuple(Span("step", Tone.GOOD, at(a), None if b is None else at(b)) for a, b in spans)
    return Track("lane", Tone.GOOD, "done", parts[0].began, parts[-1].ended, spans=parts)


@pytest.mark.parametrize(
    ("seconds", "length"), [(0, 0.02), (0.02, 0.02), (0.9, 1.2), (61, 120), (86400, 86400), (86401, 4 * 86400)]
)
def test_axis_is_the_next_length_that_reads_well(seconds: float, length: float) -> None:
    assert nice_length_s(seconds) == length


def test_bar_stands_at_its_time_with_its_length() -> None:
    part = place_section(Section("Build", BEGAN, at(4), tracks=[track((1, 3))]), at(100))
    bar = part.tracks[0].bars[0]
    assert (part.ticks, bar.x, bar.width, bar.after_s, bar.seconds) == ([0, 1, 2, 3, 4], 250, 500, 1, 2)


def test_short_bar_is_still_seen_and_stays_on_the_axis() -> None:
    bar = place_section(Section("Build", BEGAN, at(8), tracks=[track((7.9999, 8.0))]), at(100)).tracks[0].bars[0]
    assert bar.width == MIN_WIDTH
    assert bar.x + bar.width <= WIDTH


def test_what_goes_on_reaches_until_now() -> None:
    part = place_section(Section("Build", BEGAN, None, tracks=[track((1, None))]), at(3))
    assert (part.tracks[0].bars[0].is_running, part.tracks[0].bars[0].seconds, part.tracks[0].seconds) == (True, 2, 2)


def test_time_before_the_beginning_is_at_the_beginning() -> None:
    bar = place_section(Section("Build", BEGAN, at(1), tracks=[track((-1, 1))]), at(9)).tracks[0].bars[0]
    assert (bar.x, bar.after_s) == (0, 0)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0"), (0.005, "5 ms"), (0.5, "500 ms"), (3, "3 s"), (90, "1.5 min"), (21600, "6 h")]
)
def test_tick_is_short(seconds: float, words: str) -> None:
    assert tick_label(seconds) == words
