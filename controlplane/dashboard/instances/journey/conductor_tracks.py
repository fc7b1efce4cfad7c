"""The tracks of the conductors: how long the request waited, who chose a host, and what the choice was."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from controlplane.dashboard.instances.journey.tracks import Span, Tone, Track
from controlplane.dashboard.instances.journey.work_notes import times_taken, work_notes
from servers.instances.work_kinds import RESCHEDULE, SCHEDULE_AND_BUILD

KINDS = {SCHEDULE_AND_BUILD: "Schedule", RESCHEDULE: "Choose another host"}
CHOSEN = "selected"
CLOCKS = timedelta(seconds=1)
"""How far the clock of a process may be from the database's."""


def conductor_tracks(works: Sequence[Any], decisions: Sequence[Any], *, now: datetime, is_admin: bool) -> list[Track]:
    """Make one track for each piece of scheduling work, with the decision that was made while it ran."""
    mine = [work for work in works if work.kind in KINDS]
    made = _decisions_of(mine, decisions, now)
    return [_track(work, made.get(work.pk), now, is_admin=is_admin) for work in mine]


def _decisions_of(works: Sequence[Any], decisions: Sequence[Any], now: datetime) -> dict[Any, Any]:
    """Find the decision of each work that made one: of a batch by its id, of a reschedule by its time.

    A reschedule that took an alternate decided nothing, and old decisions are pruned.
    """
    batches = {work.subject: work for work in works if work.kind == SCHEDULE_AND_BUILD}
    found = {batches[one.subject].pk: one for one in decisions if one.subject in batches}
    left = [one for one in decisions if one.subject not in batches]
    for work in works:
        if work.kind == RESCHEDULE and work.started_at is not None:
            ended = (work.finished_at or now) + CLOCKS
            made = next((one for one in left if work.started_at - CLOCKS <= one.created_at <= ended), None)
            if made is not None:
                left.remove(made)
                found[work.pk] = made
    return found


def _track(work: Any, decision: Any, now: datetime, *, is_admin: bool) -> Track:
    tone, outcome = _outcome(work, decision)
    error = _error(work, decision, is_admin=is_admin) if tone is Tone.BAD else ""
    return Track(
        title=KINDS[work.kind],
        tone=tone,
        outcome=outcome,
        began=work.created_at,
        ended=work.finished_at,
        host=str(work.outcome.get("host", "")) if is_admin else "",
        causes=tuple(_causes(work, decision, now, is_admin=is_admin)),
        decision_id=decision.pk if decision else None,
        spans=tuple(_spans(work, decision, tone, error)),
    )


def _outcome(work: Any, decision: Any) -> tuple[Tone, str]:
    if work.finished_at is None:
        return Tone.BUSY, work.state
    if work.state == "cancelled":
        return Tone.NONE, "cancelled"
    if decision is not None and decision.outcome != CHOSEN:
        return Tone.BAD, "no valid host" if decision.outcome == "no_valid_host" else "scheduler failed"
    if work.outcome.get("error"):
        return Tone.BAD, "failed"
    if work.outcome.get("note"):
        return Tone.NONE, "nothing to do"
    return Tone.GOOD, "host chosen"


def _error(work: Any, decision: Any, *, is_admin: bool) -> str:
    if decision is not None and decision.outcome != CHOSEN:
        return str(decision.verdict if is_admin else decision.verdict_redacted)
    return str(work.outcome.get("error", "")) if is_admin else ""


def _causes(work: Any, decision: Any, now: datetime, *, is_admin: bool) -> list[str]:
    causes = []
    if work.kind == RESCHEDULE and work.state == "done" and decision is None and work.outcome.get("host"):
        causes.append("The next alternate of the earlier decision had room: nothing was decided anew.")
    takes = times_taken(work)
    if takes > 1:
        causes.append(f"Taken {takes} times: earlier conductors failed, or sent no heartbeat any more.")
    if work.finished_at is None and is_admin and work.outcome.get("error"):
        causes.append(f"The last of them said: {work.outcome['error']}")
    return [*causes, *work_notes(work, now, who="conductor")]


def _spans(work: Any, decision: Any, tone: Tone, error: str) -> list[Span]:
    waited = Span("Wait for a conductor", Tone.WAIT, work.created_at, work.started_at or work.finished_at)
    if work.started_at is None:
        return [waited]
    if decision is None:
        return [waited, Span("Choose a host", tone, work.started_at, work.finished_at, error)]
    ended = work.finished_at
    chosen_at = max(work.started_at, decision.created_at if ended is None else min(decision.created_at, ended))
    is_refused = decision.outcome != CHOSEN
    chosen = Span("Choose a host", Tone.BAD if is_refused else Tone.GOOD, work.started_at, chosen_at, error)
    if is_refused:
        return [waited, chosen]
    return [waited, chosen, Span("Hand over to the host", tone, chosen_at, ended)]
