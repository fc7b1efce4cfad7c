"""Times by the clock become places on an axis that all tracks of a section share."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.dashboard.instances.journey.tracks import Section, Span, Track

WIDTH = 1000.0
MIN_WIDTH = 6.0
"""The minimum width of a bar: a step of a millisecond must be visible on an axis of minutes."""

QUARTERS = 4
NICE_S = (
    *(0.02, 0.04, 0.08, 0.2, 0.4, 0.8, 1.2, 2.0, 4.0, 8.0, 12.0, 20.0, 40.0, 60.0, 120.0, 240.0, 480.0, 1200.0, 2400.0),
    *(3600.0, 7200.0, 14400.0, 28800.0, 43200.0, 86400.0),
)
"""Lengths whose quarters read well."""

DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A placed span: `x` and `width` of WIDTH, `after_s` since the section began, `seconds` so far or in all."""

    span: Span
    x: float
    width: float
    after_s: float
    seconds: float

    @property
    def is_running(self) -> bool:
        """Whether the step is still running."""
        return self.span.ended is None


@dataclass(frozen=True, slots=True)
class PlacedTrack:
    """A track with its bars. `seconds` is None for an event, which has no length."""

    track: Track
    bars: list[Bar]
    after_s: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class PlacedSection:
    """A section with its axis: `ticks` are seconds since its beginning, at the quarters of the width."""

    section: Section
    tracks: list[PlacedTrack]
    ticks: list[float]


def place_section(section: Section, now: datetime) -> PlacedSection:
    """Place the section on an axis as long as all that happened in it, or until `now` while something goes on."""
    length_s = nice_length_s(max((_until_s(section, track, now) for track in section.tracks), default=0.0))
    return PlacedSection(
        section,
        [_track(section, track, length_s, now) for track in section.tracks],
        [length_s * quarter / QUARTERS for quarter in range(QUARTERS + 1)],
    )


def nice_length_s(seconds: float) -> float:
    """Return the minimum length of NICE_S, or of whole days in fours, that holds `seconds`."""
    for length in NICE_S:
        if seconds <= length:
            return length
    days = -(-seconds // DAY_S)
    return float(-(-days // QUARTERS) * QUARTERS * DAY_S)


def _until_s(section: Section, track: Track, now: datetime) -> float:
    """Return where the track ends on the axis; a span that was recorded late may end after its track."""
    ends = [track.ended or now, *(span.ended or now for span in track.spans)]
    return max(_after_s(section, end) for end in ends)


def _track(section: Section, track: Track, length_s: float, now: datetime) -> PlacedTrack:
    is_event = track.ended == track.began
    spans = track.spans or (Span("", track.tone, track.began, track.ended),)
    return PlacedTrack(
        track,
        [_bar(section, span, length_s, now) for span in spans],
        _after_s(section, track.began),
        None if is_event else max(0.0, ((track.ended or now) - track.began).total_seconds()),
    )


def _bar(section: Section, span: Span, length_s: float, now: datetime) -> Bar:
    after_s = _after_s(section, span.began)
    seconds = max(0.0, ((span.ended or now) - span.began).total_seconds())
    width = min(WIDTH, max(MIN_WIDTH, WIDTH * seconds / length_s))
    x = min(WIDTH * after_s / length_s, WIDTH - width)
    return Bar(span, round(x, 1), round(width, 1), after_s, seconds)


def _after_s(section: Section, at: datetime) -> float:
    """Return the seconds since the section began. Clocks of processes differ: what seems earlier counts as 0."""
    return max(0.0, (at - section.began).total_seconds())
