"""What happens to an instance now, and what happened to it apart from being built: entries of a timeline."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from controlplane.dashboard.instances.journey.labels import (
    BUILD_STEPS,
    action_label,
    failed_label,
    heal_label,
    step_label,
)
from controlplane.dashboard.instances.journey.sections import BUILD, SECTION_ACTIONS, is_shown_in_sections
from controlplane.infra.reader_texts import said
from controlplane.kernel.units import bytes_text
from servers.instances.actions.table import ACTIONS
from servers.instances.selectors.journey import JourneyRecords
from servers.states import task_name

TASKS = {task: rule.doing for rule in ACTIONS.values() for task in rule.tasks if task}
RESULTS = {"success": "good", "error": "bad", "": "busy", "cancelled": ""}


@dataclass(frozen=True, slots=True)
class TimedStep:
    """One step with its duration in seconds, so far while it is `busy`, and its share of the longest, 0 to 100."""

    title: str
    tone: str
    seconds: float
    share: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One point of the timeline. `tone` is good, bad, busy, warn or empty. `seconds` is what it took; `who` asked for
    it, empty where the control plane did it by itself.
    """

    at: datetime
    title: str
    tone: str
    text: str = ""
    seconds: float | None = None
    steps: list[TimedStep] = field(default_factory=list)
    who: str = ""


@dataclass(frozen=True, slots=True)
class InstanceProgress:
    """What happens now, for how many seconds, and how many of how many steps are behind it (0 of 0: not known)."""

    text: str
    seconds: float
    done: int = 0
    steps: int = 0


def is_changing(instance: Any) -> bool:
    """Whether something is being done to it, so that a page should poll again soon."""
    return instance.vm_state == "building" or bool(instance.task_state)


def progress(instance: Any, records: JourneyRecords, *, waits: str = "") -> InstanceProgress | None:
    """None when nothing is being done. `waits`: why it goes no further, where its host is silent."""
    if not is_changing(instance):
        return None
    if instance.vm_state != "building" or instance.task_state == "deleting":
        found = _action_progress(instance, next((one for one in reversed(records.actions) if not one.result), None))
    else:
        found = _build_progress(instance, records)
    return (
        replace(found, text=gettext("%(doing)s. %(waits)s") % {"doing": found.text, "waits": said(waits)})
        if waits
        else found
    )


def _action_progress(instance: Any, action: Any) -> InstanceProgress:
    """Of an action with steps in the table: which one runs, and how many are behind it."""
    name = gettext(TASKS.get(instance.task_state) or task_name(instance.task_state).capitalize())
    if action is None:
        return InstanceProgress(name, 0.0)
    seconds, rule = _since(action.started_at), ACTIONS.get(action.action)
    name = gettext(rule.doing) if rule is not None and instance.task_state in rule.tasks else name
    if rule is None or len(rule.steps) < 2:
        return InstanceProgress(name, seconds)
    events = {event.name: event for event in action.events.all()}
    found = [events[step.name] for step in rule.steps if step.name in events]
    running = next((event for event in found if not event.finished_at), None)
    text = _step_text(name, running) if running else name
    return InstanceProgress(text, seconds, sum(bool(event.finished_at) for event in found), len(rule.steps))


def _step_text(action: str, event: Any) -> str:
    """The step that runs, and how far it is, if it told so."""
    words = {"action": action, "step": step_label(event.name).lower()}
    if not event.total_bytes:
        return gettext("%(action)s: %(step)s") % words
    words |= {"done": bytes_text(event.done_bytes), "total": bytes_text(event.total_bytes)}
    return gettext("%(action)s: %(step)s, %(done)s of %(total)s") % words


def _build_progress(instance: Any, records: JourneyRecords) -> InstanceProgress:
    steps = BUILD_STEPS + 1
    begun = [one for one in records.actions if one.action == BUILD and not one.finished_at]
    seconds = _since(begun[-1].started_at if begun else instance.created_at)
    attempt = records.attempts[-1] if records.attempts else None
    if attempt is None or attempt.finished_at is not None:
        text = gettext("Choosing another host") if attempt and begun else gettext("Choosing a host")
        return InstanceProgress(text, seconds, 0, steps)
    events = [
        event
        for one in begun
        for event in one.events.all()
        if event.attempt == attempt.number and event.host == attempt.host
    ]
    running = next((event for event in events if not event.finished_at), None)
    now = step_label(running.name).lower() if running else gettext("waiting for the host")
    again = gettext("Building (attempt %(number)d): %(step)s")
    text = again if attempt.number > 1 else gettext("Building: %(step)s")
    done = 1 + sum(bool(event.finished_at) for event in events)
    return InstanceProgress(text % {"number": attempt.number, "step": now}, seconds, min(done, steps), steps)


def later(instance: Any, records: JourneyRecords, *, is_admin: bool, waits: str = "") -> list[Entry]:
    """What came apart from builds, oldest first: actions, faults, what the control plane put right by itself. `waits`:
    why what has not ended goes no further, where the host is silent.
    """

    def is_outside(row: Any) -> bool:
        return not is_shown_in_sections(instance, records, row.created_at)

    actions = [one for one in records.actions if one.action not in SECTION_ACTIONS]
    said = {one.message for one in actions}
    entries = [_action(one, is_admin, records.users.get(one.user_id, ""), waits) for one in actions]
    entries += [_fault(fault) for fault in records.faults if fault.message not in said and is_outside(fault)]
    entries += [_heal(heal, is_admin) for heal in records.heals if is_outside(heal)]
    return sorted(entries, key=lambda entry: entry.at)


def _fault(fault: Any) -> Entry:
    return Entry(fault.created_at, failed_label(fault.step), "bad", fault.message)


def _heal(heal: Any, is_admin: bool) -> Entry:
    return Entry(
        heal.created_at, heal_label(heal.kind), "warn", f"{said(heal.found)}\n{said(heal.done)}" if is_admin else ""
    )


def _action(action: Any, is_admin: bool, who: str, waits: str) -> Entry:
    events = list(action.events.all())
    # One step says no more than the action itself.
    steps = _steps(events, is_admin) if len(events) > 1 else []
    title, tone = action_label(action.action), RESULTS[action.result]
    text = said(waits) if waits and not action.finished_at else action.message
    return Entry(action.started_at, title, tone, text, _seconds(action), steps=steps, who=who)


def _steps(events: list[Any], is_admin: bool) -> list[TimedStep]:
    took = [_since(event.started_at) if _seconds(event) is None else _seconds(event) or 0.0 for event in events]
    longest = max(took, default=0.0) or 1.0
    return [
        TimedStep(
            title=step_label(event.name),
            tone=RESULTS.get(event.result, "busy") if event.finished_at else "busy",
            seconds=seconds,
            share=round(100 * seconds / longest),
            detail=event.details if is_admin else "",
        )
        for event, seconds in zip(events, took, strict=True)
    ]


def _since(at: datetime) -> float:
    return max(0.0, (timezone.now() - at).total_seconds())


def _seconds(row: Any) -> float | None:
    return (row.finished_at - row.started_at).total_seconds() if row.finished_at else None
