"""A journey as chapters: each try to build the instance, with the lanes of all who worked on it, in order of time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from controlplane.dashboard.instances.journey.attempt_lanes import attempt_lanes
from controlplane.dashboard.instances.journey.axis import PlacedChapter, placed
from controlplane.dashboard.instances.journey.conductor_lanes import conductor_lanes
from controlplane.dashboard.instances.journey.lanes import Chapter, Lane, Tone
from controlplane.dashboard.instances.journey.moments import active_lane, fault_lane, heal_lane
from servers.instances.actions.table import CREATE, SCHEDULE_AGAIN

BUILD, AGAIN = CREATE.name, SCHEDULE_AGAIN.name
"""The action of each try, written when a host was found or none; and what asks for another try."""

CHAPTER_ACTIONS = {BUILD, AGAIN}
"""Actions that the chapters tell. The others are told below the lanes."""

CHOOSING = "select_destinations"
FIRST, LATER = "Build", "Scheduled again"
AFTERWARDS = timedelta(seconds=5)
"""A fault or heal that is written with the end of a chapter belongs to it, whosever clock it bears."""


def chapters(instance: Any, told: Any, *, now: datetime, is_admin: bool) -> list[PlacedChapter]:
    """Oldest first; at least one. Tenants are told neither hosts nor what may name them."""
    lanes = [
        *conductor_lanes(told.works, told.decisions, now=now, is_admin=is_admin),
        *attempt_lanes(told.attempts, told.works, _events(told.actions), now=now, is_admin=is_admin),
    ]
    tries = _tries(instance, told)
    return [placed(_filled(tries, number, told, lanes, is_admin=is_admin), now) for number in range(len(tries))]


def is_told_in_chapters(instance: Any, told: Any, at: datetime) -> bool:
    """Whether a fault or heal of this time is shown with a try to build, and not below."""
    tries = _tries(instance, told)
    return _is_within(tries[_number_of(tries, at)], at)


def _tries(instance: Any, told: Any) -> list[Chapter]:
    """One for each build, and one for what was asked for and has no build yet."""
    builds = [_try(one, told.actions) for one in told.actions if one.action == BUILD]
    waiting = [one for one in told.actions if one.action == AGAIN and not _build_after(one, told.actions)]
    if waiting:
        return [*builds, Chapter(LATER, _asked_at(waiting[-1], told.works), None, waiting[-1].message)]
    if builds:
        return builds
    began = min([instance.created_at, *(work.created_at for work in told.works)])
    return [Chapter(FIRST, began, None if instance.vm_state == "building" else instance.updated_at)]


def _try(build: Any, actions: Sequence[Any]) -> Chapter:
    asked = [one for one in actions if one.action == AGAIN and _build_after(one, actions) == build]
    note = asked[-1].message if asked else ""
    is_active = build.result == "success"
    return Chapter(LATER if asked else FIRST, build.started_at, build.finished_at, note, is_active)


def _build_after(again: Any, actions: Sequence[Any]) -> Any:
    """The build that was asked for again: its action is the next of its kind to be written."""
    return next((one for one in actions if one.action == BUILD and one.pk > again.pk), None)


def _asked_at(again: Any, works: Sequence[Any]) -> datetime:
    """By the clock of the work that was written with it, since that opens the first lane."""
    times: list[datetime] = [again.started_at, *(work.created_at for work in works if work.pk == again.work_id)]
    return min(times)


def _number_of(tries: Sequence[Chapter], at: datetime) -> int:
    """Which of them something of this time belongs to: the last that had begun."""
    begun = [number for number, one in enumerate(tries) if one.began <= at]
    return begun[-1] if begun else 0


def _is_within(one: Chapter, at: datetime) -> bool:
    return one.ended is None or at <= one.ended + AFTERWARDS


def _events(actions: Sequence[Any]) -> list[Any]:
    return [event for one in actions if one.action == BUILD for event in one.events.all()]


def _filled(tries: Sequence[Chapter], number: int, told: Any, lanes: Sequence[Lane], *, is_admin: bool) -> Chapter:
    chapter = tries[number]

    def is_here(at: datetime) -> bool:
        return _number_of(tries, at) == number and _is_within(chapter, at)

    mine = [lane for lane in lanes if _number_of(tries, lane.began) == number]
    mine += [heal_lane(heal, is_admin=is_admin) for heal in told.heals if is_here(heal.created_at)]
    mine.sort(key=lambda lane: lane.began)
    for fault in told.faults:
        if is_here(fault.created_at):
            mine = _with_fault(mine, fault)
    if chapter.is_active and chapter.ended:
        mine.append(active_lane(chapter.ended))
    return replace(chapter, lanes=mine)


def _with_fault(lanes: list[Lane], fault: Any) -> list[Lane]:
    """The fault's words at the lane that failed; a lane of its own where none did. Never told twice."""
    failed = [number for number, lane in enumerate(lanes) if lane.tone is Tone.BAD and lane.began <= fault.created_at]
    if not failed:
        return [*lanes, fault_lane(fault)]
    lane = lanes[failed[-1]]
    if fault.step == CHOOSING and any(span.error for span in lane.spans):
        return lanes  # the decision's own sentence stands there
    said = [*lane.causes, *(span.error for span in lane.spans)]
    if any(fault.message in each or (each and each in fault.message) for each in said):
        return lanes
    return [*lanes[: failed[-1]], replace(lane, causes=(fault.message, *lane.causes)), *lanes[failed[-1] + 1 :]]
