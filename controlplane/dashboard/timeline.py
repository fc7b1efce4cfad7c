"""The journey of an instance as entries of a timeline: request, decision, attempts, steps with durations."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

STEPS = {
    "claim": "Claim on the host",
    "group_check": "Group rule",
    "networking": "Network",
    "block_device_mapping": "Image and disks",
    "spawning": "Start the guest",
}
CHOOSING = "select_destinations"
TASKS = {
    "deleting": "Being deleted",
    "powering-off": "Stopping",
    "powering-on": "Starting",
    "reboot_started_hard": "Rebooting",
    "rebooting_hard": "Rebooting",
}
OUTCOMES = {"active": "good", "": "busy"}
RESULTS = {"success": "good", "error": "bad", "": "busy", "cancelled": ""}


@dataclass(frozen=True, slots=True)
class Step:
    """One step with its duration in seconds, so far while it is `busy`, and its share of the longest, 0 to 100."""

    title: str
    tone: str
    seconds: float
    share: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One point of the timeline. `tone` is good, bad, busy or empty. `seconds` is what it took, `suffix` since when."""

    at: datetime
    title: str
    tone: str
    text: str = ""
    seconds: float | None = None
    suffix: str = ""
    decision_id: Any = None
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Progress:
    """What happens now, for how many seconds, and how many of how many steps are behind it (0 of 0: not known)."""

    text: str
    seconds: float
    done: int = 0
    steps: int = 0


def is_changing(instance: Any) -> bool:
    """Whether something is being done to it, so that a page should look again soon."""
    return instance.vm_state == "building" or bool(instance.task_state)


def progress(instance: Any, told: dict[str, Any]) -> Progress | None:
    """None when nothing is being done."""
    if not is_changing(instance):
        return None
    if instance.vm_state != "building" or instance.task_state == "deleting":
        began = next((one.started_at for one in reversed(told["actions"]) if not one.result), None)
        name = TASKS.get(instance.task_state, instance.task_state.replace("_", " ").capitalize())
        return Progress(name, _since(began) if began else 0.0)
    return _build_progress(instance, told)


def _build_progress(instance: Any, told: dict[str, Any]) -> Progress:
    steps = len(STEPS) + 1
    if not told["attempts"]:
        return Progress("Choosing a host", _since(instance.created_at), 0, steps)
    attempt = told["attempts"][-1]
    events = _events(attempt, told["actions"])
    running = next((event for event in events if not event.finished_at), None)
    now = _step_title(running.name).lower() if running else "waiting for the host"
    again = f" (attempt {attempt.number})" if attempt.number > 1 else ""
    done = 1 + sum(bool(event.finished_at) for event in events)
    return Progress(f"Building{again}: {now}", _since(instance.created_at), min(done, steps), steps)


def timeline(instance: Any, told: dict[str, Any], *, is_admin: bool) -> list[Entry]:
    """Oldest first. Tenants are not told the names of hosts."""
    entries = [Entry(instance.created_at, "Requested", "good", instance.request_id)]
    if instance.decision_id:
        entries.append(_decision(instance, told))
    entries += [_attempt(attempt, told["actions"], is_admin) for attempt in told["attempts"]]
    entries += [_action(one, is_admin) for one in told["actions"] if one.action != "create"]
    entries += [_fault(one) for one in told["faults"] if one.step != CHOOSING or not instance.decision_id]
    if instance.launched_at:
        took = (instance.launched_at - instance.created_at).total_seconds()
        entries.append(Entry(instance.launched_at, "Active", "good", seconds=took, suffix="after the request"))
    return sorted(entries, key=lambda entry: entry.at)


def _decision(instance: Any, told: dict[str, Any]) -> Entry:
    """The choice of a host. Its failure is told here, not again as a fault."""
    if told["attempts"]:
        at = told["attempts"][0].started_at
        return Entry(at, "Host chosen", "good", decision_id=instance.decision_id)
    fault = next((one for one in told["faults"] if one.step == CHOOSING), None)
    if fault is None:
        return Entry(instance.created_at, "Host chosen", "good", decision_id=instance.decision_id)
    return Entry(fault.created_at, "No valid host", "bad", fault.message, decision_id=instance.decision_id)


def _fault(fault: Any) -> Entry:
    where = _step_title(fault.step) if fault.step else "Build"
    return Entry(fault.created_at, f"{where} failed", "bad", fault.message)


def _attempt(attempt: Any, actions: list[Any], is_admin: bool) -> Entry:
    where = f" on {attempt.host}" if is_admin else ""
    outcome = "" if attempt.outcome in OUTCOMES else attempt.outcome
    return Entry(
        attempt.started_at,
        f"Attempt {attempt.number}{where}",
        OUTCOMES.get(attempt.outcome, "bad"),
        attempt.reason if is_admin and attempt.reason else outcome,
        seconds=_seconds(attempt),
        steps=_steps(_events(attempt, actions), is_admin),
    )


def _events(attempt: Any, actions: list[Any]) -> list[Any]:
    return [
        event
        for one in actions
        if one.action == "create"
        for event in one.events.all()
        if event.attempt == attempt.number and event.host == attempt.host
    ]


def _action(action: Any, is_admin: bool) -> Entry:
    events = list(action.events.all())
    # One step says no more than the action itself.
    steps = _steps(events, is_admin) if len(events) > 1 else []
    title = action.action.capitalize()
    return Entry(action.started_at, title, RESULTS[action.result], action.message, _seconds(action), steps=steps)


def _steps(events: list[Any], is_admin: bool) -> list[Step]:
    took = [_since(event.started_at) if _seconds(event) is None else _seconds(event) or 0.0 for event in events]
    longest = max(took, default=0.0) or 1.0
    return [
        Step(
            title=_step_title(event.name),
            tone=RESULTS.get(event.result, "busy") if event.finished_at else "busy",
            seconds=seconds,
            share=round(100 * seconds / longest),
            detail=event.details if is_admin else "",
        )
        for event, seconds in zip(events, took, strict=True)
    ]


def _step_title(name: str) -> str:
    return STEPS.get(name, name.replace("_", " ").replace("-", " ").capitalize())


def _since(at: datetime) -> float:
    return max(0.0, (timezone.now() - at).total_seconds())


def _seconds(row: Any) -> float | None:
    return (row.finished_at - row.started_at).total_seconds() if row.finished_at else None
