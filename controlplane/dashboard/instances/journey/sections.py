"""A journey as sections: each try to build the instance has the tracks of all who worked on it, in order of time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from controlplane.dashboard.instances.journey.attempt_tracks import attempt_tracks
from controlplane.dashboard.instances.journey.axis import PlacedSection, place_section
from controlplane.dashboard.instances.journey.conductor_tracks import conductor_tracks
from controlplane.dashboard.instances.journey.event_tracks import active_track, fault_track, heal_track
from controlplane.dashboard.instances.journey.tracks import Section, Tone, Track
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.lifecycle import CREATE, SCHEDULE_AGAIN

BUILD, AGAIN = CREATE.name, SCHEDULE_AGAIN.name
"""The action of each try, written when a host was found or none; and what asks for another try."""

SECTION_ACTIONS = {BUILD, AGAIN}
"""Actions that the sections show. The page shows the others below the tracks."""

CHOOSING = "select_destinations"
FIRST, LATER = gettext_noop("Build"), gettext_noop("Scheduled again")
AFTERWARDS = timedelta(seconds=5)
"""A fault or heal that is written with the end of a section belongs to it, whichever clock gave its time."""


def sections(instance: Any, records: Any, *, now: datetime, is_admin: bool) -> list[PlacedSection]:
    """Return the sections, oldest first, at least one. Tenants see neither hosts nor words that may name them."""
    tracks = [
        *conductor_tracks(records.works, records.decisions, now=now, is_admin=is_admin),
        *attempt_tracks(records.attempts, records.works, _events(records.actions), now=now, is_admin=is_admin),
    ]
    tries = _tries(instance, records)
    return [
        place_section(_filled(tries, number, records, tracks, is_admin=is_admin), now) for number in range(len(tries))
    ]


def is_shown_in_sections(instance: Any, records: Any, at: datetime) -> bool:
    """Whether a fault or heal of this time is shown with a try to build, and not below."""
    tries = _tries(instance, records)
    return _is_within(tries[_number_of(tries, at)], at)


def _tries(instance: Any, records: Any) -> list[Section]:
    """Return a section for each build, and one for a try that was asked for and has no build yet."""
    builds = [_try(one, records) for one in records.actions if one.action == BUILD]
    waiting = [one for one in records.actions if one.action == AGAIN and not _build_after(one, records.actions)]
    if waiting:
        again = waiting[-1]
        who = records.users.get(again.user_id, "")
        return [*builds, Section(LATER, _asked_at(again, records.works), None, again.message, who=who)]
    if builds:
        return builds
    began = min([instance.created_at, *(work.created_at for work in records.works)])
    return [Section(FIRST, began, None if instance.vm_state == "building" else instance.updated_at)]


def _try(build: Any, records: Any) -> Section:
    actions = records.actions
    asked = [one for one in actions if one.action == AGAIN and _build_after(one, actions) == build]
    note = asked[-1].message if asked else ""
    is_active = build.result == "success"
    who = records.users.get((asked[-1] if asked else build).user_id, "")
    return Section(LATER if asked else FIRST, build.started_at, build.finished_at, note, is_active, who)


def _build_after(again: Any, actions: Sequence[Any]) -> Any:
    """Return the build that `again` asked for: its action is the next of its kind to be written."""
    return next((one for one in actions if one.action == BUILD and one.pk > again.pk), None)


def _asked_at(again: Any, works: Sequence[Any]) -> datetime:
    """Return the time by the clock of the work that was written with it, since that opens the first track."""
    times: list[datetime] = [again.started_at, *(work.created_at for work in works if work.pk == again.work_id)]
    return min(times)


def _number_of(tries: Sequence[Section], at: datetime) -> int:
    """Return which of the tries something of this time belongs to: the last that had begun."""
    begun = [number for number, one in enumerate(tries) if one.began <= at]
    return begun[-1] if begun else 0


def _is_within(one: Section, at: datetime) -> bool:
    return one.ended is None or at <= one.ended + AFTERWARDS


def _events(actions: Sequence[Any]) -> list[Any]:
    return [event for one in actions if one.action == BUILD for event in one.events.all()]


def _filled(tries: Sequence[Section], number: int, records: Any, tracks: Sequence[Track], *, is_admin: bool) -> Section:
    section = tries[number]

    def is_here(at: datetime) -> bool:
        return _number_of(tries, at) == number and _is_within(section, at)

    mine = [track for track in tracks if _number_of(tries, track.began) == number]
    mine += [heal_track(heal, is_admin=is_admin) for heal in records.heals if is_here(heal.created_at)]
    mine.sort(key=lambda track: track.began)
    for fault in records.faults:
        if is_here(fault.created_at):
            mine = _with_fault(mine, fault)
    if section.is_active and section.ended:
        mine.append(active_track(section.ended))
    return replace(section, tracks=mine)


def _with_fault(tracks: list[Track], fault: Any) -> list[Track]:
    """Put the fault's words on the track that failed, or on one of its own where none did; never show them twice."""
    failed = [
        number for number, track in enumerate(tracks) if track.tone is Tone.BAD and track.began <= fault.created_at
    ]
    if not failed:
        return [*tracks, fault_track(fault)]
    track = tracks[failed[-1]]
    if fault.step == CHOOSING and any(span.error for span in track.spans):
        return tracks  # the decision's own sentence is there already
    said = [*track.causes, *(span.error for span in track.spans)]
    if any(fault.message in each or (each and each in fault.message) for each in said):
        return tracks
    return [*tracks[: failed[-1]], replace(track, causes=(fault.message, *track.causes)), *tracks[failed[-1] + 1 :]]
