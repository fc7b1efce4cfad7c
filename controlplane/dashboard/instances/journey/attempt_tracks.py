"""The tracks of the hosts: each attempt has its steps, the one that failed, and its outcome."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from computeagent.protocol.work import WorkKind
from controlplane.dashboard.instances.journey.labels import step_label
from controlplane.dashboard.instances.journey.tracks import Span, Tone, Track
from controlplane.dashboard.instances.journey.work_notes import times_taken, work_notes
from controlplane.kernel.texts import gettext_noop

TONES = {"active": Tone.GOOD, "": Tone.BUSY, "rescheduled": Tone.BAD, "failed": Tone.BAD}
OUTCOMES = {
    "": gettext_noop("building"),
    "active": gettext_noop("active"),
    "rescheduled": gettext_noop("rescheduled"),
    "failed": gettext_noop("failed"),
    "cancelled": gettext_noop("cancelled"),
}
RESULTS = {"success": Tone.GOOD, "error": Tone.BAD}
CLEAN_UP_SEEN_S = 0.05
"""Shorter clean-ups are not worth a row."""


def attempt_tracks(
    attempts: Sequence[Any], works: Sequence[Any], events: Sequence[Any], *, now: datetime, is_admin: bool
) -> list[Track]:
    """Make one track for each host that was tried; `events` are the steps of the builds.

    The work of an attempt is the build that was written with it, in one transaction: so both lists have one order.
    """
    builds = [work for work in works if work.kind == WorkKind.BUILD]
    builds = builds[-len(attempts) :] if attempts else []
    found = [None] * (len(attempts) - len(builds)) + builds
    return [
        _track(attempt, work, _events_of(attempt, events), now, is_admin=is_admin)
        for attempt, work in zip(attempts, found, strict=True)
    ]


def _events_of(attempt: Any, events: Sequence[Any]) -> list[Any]:
    """Return the steps of this attempt alone: its number comes again when an instance is scheduled again."""
    return [
        event
        for event in events
        if event.attempt == attempt.number and event.host == attempt.host and event.started_at >= attempt.started_at
    ]


def _track(attempt: Any, work: Any, events: list[Any], now: datetime, *, is_admin: bool) -> Track:
    steps = [_step(event, is_admin=is_admin) for event in events]
    head, _end, details = str(attempt.reason).partition("\n") if is_admin else ("", "", "")
    return Track(
        title=_("Attempt %(number)d") % {"number": attempt.number},
        tone=TONES.get(attempt.outcome, Tone.NONE),
        outcome=_(OUTCOMES.get(attempt.outcome, attempt.outcome)),
        began=attempt.started_at,
        ended=attempt.finished_at,
        host=attempt.host if is_admin else "",
        causes=(*_ends(attempt, steps, head), *_carried(work, now)),
        spans=(_wait(attempt, work, events), *steps, *_clean_up(attempt, events)),
        evidence=details,
    )


def _ends(attempt: Any, steps: Sequence[Span], reason: str) -> list[str]:
    """Return the reason, unless the failed step shows it already, and what follows from it."""
    said = any(step.error and (step.error in reason or reason in step.error) for step in steps)
    causes = [reason] if reason and not said else []
    if attempt.outcome == "rescheduled":
        failed = next((step.title for step in steps if step.tone is Tone.BAD), "")
        if failed:
            text = _("It failed at “%(step)s”. The host gave everything back, and another one was looked for.")
        else:
            text = _("The host gave everything back, and another one was looked for.")
        causes.append(text % {"step": failed})
    return causes


def _carried(work: Any, now: datetime) -> list[str]:
    """Return what became of its work at the agent. Pruned or unknown work gives nothing."""
    if work is None:
        return []
    takes = times_taken(work)
    again = _("Its agent took it %(number)d times: it was restarted, or cut off.") % {"number": takes}
    lapsed = _("Its agent has sent no heartbeat lately; whoever serves it takes it over.")
    return [*([again] if takes > 1 else []), *work_notes(work, now, lapsed=lapsed)]


def _step(event: Any, *, is_admin: bool) -> Span:
    tone = RESULTS.get(event.result, Tone.BUSY) if event.finished_at else Tone.BUSY
    return Span(step_label(event.name), tone, event.started_at, event.finished_at, event.details if is_admin else "")


def _wait(attempt: Any, work: Any, events: Sequence[Any]) -> Span:
    """Return the span from the hand-over to the first sign of the agent; without one, to the end of the attempt."""
    taken = events[0].started_at if events else (work.started_at if work else None)
    return Span(_("Wait for the agent"), Tone.WAIT, attempt.started_at, taken or attempt.finished_at)


def _clean_up(attempt: Any, events: Sequence[Any]) -> list[Span]:
    ends = [event.finished_at for event in events if event.finished_at]
    if not ends or attempt.finished_at is None or attempt.outcome not in {"rescheduled", "failed"}:
        return []
    if (attempt.finished_at - max(ends)).total_seconds() < CLEAN_UP_SEEN_S:
        return []
    return [Span(_("Clean up on the host"), Tone.WAIT, max(ends), attempt.finished_at)]
