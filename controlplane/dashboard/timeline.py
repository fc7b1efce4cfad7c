"""The journey of an instance as entries of a timeline: request, decision, attempts, steps with durations."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

TITLES = {
    "networking": "Network",
    "block_device_mapping": "Image and disks",
    "spawning": "Start the guest",
    "claim": "Claim on the host",
    "group_check": "Group rule",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step with its duration in seconds (None while it runs) and its share of the longest, 0 to 100."""

    title: str
    tone: str
    seconds: float | None
    share: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One point of the timeline. `tone` is good, bad, busy or empty."""

    at: datetime
    title: str
    tone: str
    text: str = ""
    seconds: float | None = None
    decision_id: Any = None
    steps: list[Step] = field(default_factory=list)


def timeline(instance: Any, told: dict[str, Any], *, is_admin: bool) -> list[Entry]:
    """Oldest first. Tenants are not told the names of hosts."""
    entries = [Entry(instance.created_at, "Requested", "good", f"Request {instance.request_id}")]
    if instance.decision_id:
        found = bool(told["attempts"])
        text = "A host was chosen" if found else "No host fits"
        entries.append(
            Entry(_decided_at(instance, told), text, "good" if found else "bad", decision_id=instance.decision_id)
        )
    for attempt in told["attempts"]:
        entries.append(_attempt(attempt, told["actions"], is_admin))
    entries += [_action(one, is_admin) for one in told["actions"] if one.action != "create"]
    entries += [Entry(fault.created_at, f"Failed in {fault.step or 'build'}", "bad", fault.message) for fault in told["faults"]]
    if instance.launched_at:
        took = (instance.launched_at - instance.created_at).total_seconds()
        entries.append(Entry(instance.launched_at, "Active", "good", seconds=took))
    return sorted(entries, key=lambda entry: entry.at)


def _decided_at(instance: Any, told: dict[str, Any]) -> datetime:
    if told["attempts"]:
        return told["attempts"][0].started_at  # type: ignore[no-any-return]
    ended = [one.finished_at for one in told["actions"] if one.action == "create" and one.finished_at]
    return ended[0] if ended else instance.created_at  # type: ignore[no-any-return]


def _attempt(attempt: Any, actions: list[Any], is_admin: bool) -> Entry:
    where = f" on {attempt.host}" if is_admin else ""
    tone = {"active": "good", "": "busy"}.get(attempt.outcome, "bad")
    events = [
        event
        for one in actions
        if one.action == "create"
        for event in one.events.all()
        if event.attempt == attempt.number and event.host == attempt.host
    ]
    text = attempt.reason if is_admin else ("" if attempt.outcome in {"active", ""} else attempt.outcome)
    return Entry(
        attempt.started_at,
        f"Attempt {attempt.number}{where}",
        tone,
        text,
        seconds=_seconds(attempt),
        steps=_steps(events, is_admin),
    )


def _action(action: Any, is_admin: bool) -> Entry:
    tone = {"success": "good", "error": "bad", "": "busy", "cancelled": ""}[action.result]
    steps = _steps(list(action.events.all()), is_admin)
    return Entry(action.started_at, action.action.capitalize(), tone, action.message, _seconds(action), steps=steps)


def _steps(events: list[Any], is_admin: bool) -> list[Step]:
    longest = max((_seconds(event) or 0.0 for event in events), default=0.0) or 1.0
    return [
        Step(
            title=TITLES.get(event.name, event.name.replace("_", " ").capitalize()),
            tone={"success": "good", "error": "bad"}.get(event.result, "busy"),
            seconds=_seconds(event),
            share=round(100 * (_seconds(event) or 0.0) / longest),
            detail=event.details if is_admin else "",
        )
        for event in events
    ]


def _seconds(row: Any) -> float | None:
    return (row.finished_at - row.started_at).total_seconds() if row.finished_at else None
