"""The parts of a journey: sections have tracks, tracks have spans, and each has its times by the clock."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Tone(StrEnum):
    """The state of a track or span as a colour: also the class of its pill and of its bar."""

    GOOD = "good"
    BAD = "bad"
    BUSY = "busy"
    WARN = "warn"
    WAIT = "wait"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Span:
    """One step from `began` to `ended` (None: until now). `error` is what it failed with, as the reader may see it."""

    title: str
    tone: Tone
    began: datetime
    ended: datetime | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Track:
    """One attempt of a conductor or a host, or an event in which the control plane acted by itself.

    `outcome` is its pill. `causes` are sentences: why it came to be, why it ended so. `host` is empty for tenants.
    """

    title: str
    tone: Tone
    outcome: str
    began: datetime
    ended: datetime | None
    host: str = ""
    causes: tuple[str, ...] = ()
    decision_id: Any = None
    spans: tuple[Span, ...] = ()
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One try to build it, from being asked for to its end: the tracks share an axis that begins with it.

    `note` says who asked for it again, `who` is the name of whoever asked. `is_active`: it ended with an active
    instance.
    """

    title: str
    began: datetime
    ended: datetime | None
    note: str = ""
    is_active: bool = False
    who: str = ""
    tracks: list[Track] = field(default_factory=list)
