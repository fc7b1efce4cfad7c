"""The tracks of the conductors: how long the request waited, who chose a host, and what the choice was."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from controlplane.dashboard.instances.journey.tracks import Span, Tone, Track
from controlplane.dashboard.instances.journey.work_notes import times_taken, work_notes
from controlplane.kernel.texts import gettext_noop
from scheduling.domain.trace.verdict_text import verdict_text
from servers.instances.work_kinds import RESCHEDULE, SCHEDULE_AND_BUILD

KINDS = {SCHEDULE_AND_BUILD: gettext_noop("Schedule"), RESCHEDULE: gettext_noop("Choose another host")}
STATES = {"waiting": gettext_noop("waiting"), "running": gettext_noop("running")}
"""Of work that is open."""
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
        title=_(KINDS[work.kind]),
        tone=tone,
        outcome=_(outcome),
        began=work.created_at,
        ended=work.finished_at,
        host=str(work.outcome.get("host", "")) if is_admin else "",
        causes=tuple(_causes(work, decision, now, is_admin=is_admin)),
        decision_id=decision.pk if decision else None,
        spans=tuple(_spans(work, decision, tone, error)),
    )


def _outcome(work: Any, decision: Any) -> tuple[Tone, str]:
    if work.finished_at is None:
        return Tone.BUSY, STATES.get(work.state, work.state)
    if work.state == "cancelled":
        return Tone.NONE, gettext_noop("cancelled")
    if decision is not None and decision.outcome != CHOSEN:
        is_full = decision.outcome == "no_valid_host"
        return Tone.BAD, gettext_noop("no valid host") if is_full else gettext_noop("scheduler failed")
    if work.outcome.get("error"):
        return Tone.BAD, gettext_noop("failed")
    if work.outcome.get("note"):
        return Tone.NONE, gettext_noop("nothing to do")
    return Tone.GOOD, gettext_noop("host chosen")


def _error(work: Any, decision: Any, *, is_admin: bool) -> str:
    if decision is not None and decision.outcome != CHOSEN:
        return verdict_text(decision.verdict if is_admin else decision.verdict_redacted, _)
    return str(work.outcome.get("error", "")) if is_admin else ""


def _causes(work: Any, decision: Any, now: datetime, *, is_admin: bool) -> list[str]:
    causes = []
    if work.kind == RESCHEDULE and work.state == "done" and decision is None and work.outcome.get("host"):
        causes.append(_("The next alternate of the earlier decision had room: nothing was decided anew."))
    takes = times_taken(work)
    if takes > 1:
        causes.append(
            _("Taken %(number)d times: earlier conductors failed, or sent no heartbeat any more.") % {"number": takes}
        )
    if work.finished_at is None and is_admin and work.outcome.get("error"):
        causes.append(_("The last of them said: %(error)s") % {"error": work.outcome["error"]})
    lapsed = _("Its conductor has sent no heartbeat lately; whoever serves it takes it over.")
    return [*causes, *work_notes(work, now, lapsed=lapsed)]


def _spans(work: Any, decision: Any, tone: Tone, error: str) -> list[Span]:
    waited = Span(_("Wait for a conductor"), Tone.WAIT, work.created_at, work.started_at or work.finished_at)
    if work.started_at is None:
        return [waited]
    if decision is None:
        return [waited, Span(_("Choose a host"), tone, work.started_at, work.finished_at, error)]
    ended = work.finished_at
    chosen_at = max(work.started_at, decision.created_at if ended is None else min(decision.created_at, ended))
    is_refused = decision.outcome != CHOSEN
    chosen = Span(_("Choose a host"), Tone.BAD if is_refused else Tone.GOOD, work.started_at, chosen_at, error)
    if is_refused:
        return [waited, chosen]
    return [waited, chosen, Span(_("Hand over to the host"), tone, chosen_at, ended)]
