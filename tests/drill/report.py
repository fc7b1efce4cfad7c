"""What a drill found: figures and evidence, as text and as JSON. Pure."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.drill.fault_injector import Injection

MAX_LINES = 12


@dataclass
class Outcome:
    """One environment's part. `faults` are found outside of any kill: at the end, or by the load."""

    environment: str
    injections: list[Injection] = field(default_factory=list)
    points: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    requests: int = 0
    instances: int = 0
    actions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """How often each action of the table was asked for, and accepted."""
    consoles: int = 0
    """Through which bytes went both ways."""
    backups: int = 0
    restored: int = 0
    """Volumes that were made of backups, and whose bytes were compared."""
    seconds: float = 0.0

    @property
    def kills(self) -> list[Injection]:
        """Strikes that hit."""
        return [one for one in self.injections if one.hit]

    @property
    def violations(self) -> list[str]:
        """All of them."""
        return [*(line for one in self.injections for line in one.violations), *self.faults]


def as_json(outcomes: Sequence[Outcome], command: str) -> dict[str, Any]:
    """Everything."""
    return {
        "command": command,
        "kills": sum(len(one.kills) for one in outcomes),
        "violations": sum(len(one.violations) for one in outcomes),
        "environments": [
            {
                "environment": one.environment,
                "seconds": round(one.seconds, 1),
                "requests": one.requests,
                "instances": one.instances,
                "actions": {name: list(times) for name, times in one.actions.items()},
                "consoles": one.consoles,
                "backups": one.backups,
                "restored": one.restored,
                "points": one.points,
                "points_never_injected": points_never_injected(one),
                "faults": one.faults,
                "quiet_s": quiet_figures(one.kills),
                "injections": [each.as_row() for each in one.injections],
            }
            for one in outcomes
        ],
    }


def as_text(outcomes: Sequence[Outcome], command: str) -> str:
    """For people: first the sum, then each environment, then the points, then the evidence."""
    kills = [kill for one in outcomes for kill in one.kills]
    violations = sum(len(one.violations) for one in outcomes)
    points = {kill.point for kill in kills if kill.point}
    known = {point for one in outcomes for point in one.points}
    return "\n".join(
        [
            f"Drill: {command}",
            f"{len(kills)} kills at {len(points)} of {len(known)} points, {violations} violations",
            "",
            *(line for one in outcomes for line in _environment_lines(one)),
            "",
            "Kills by point (times to quiet: median, longest)",
            *_point_lines(kills),
            "",
            *_never_lines(known - points, {one.point for each in outcomes for one in each.injections}),
            *_healed_lines(outcomes),
            *_evidence_lines(outcomes),
        ]
    )


def quiet_figures(kills: Iterable[Injection]) -> dict[str, float]:
    """Median, 95th percentile and longest of the seconds to quiet."""
    times = sorted(one.quiet_s for one in kills)
    if not times:
        return {}
    p95 = times[min(len(times) - 1, int(len(times) * 0.95))]
    return {"median": round(statistics.median(times), 2), "p95": round(p95, 2), "max": round(times[-1], 2)}


def points_never_injected(outcome: Outcome) -> list[str]:
    """Points that the processes passed at some time, and nobody while it was armed."""
    injected = {one.point for one in outcome.kills}
    return [point for point in outcome.points if point not in injected]


def _environment_lines(one: Outcome) -> list[str]:
    figures = quiet_figures(one.kills)
    by_process = Counter(_kind_of(kill.process) for kill in one.kills)
    recovered = sum(not kill.violations for kill in one.kills)
    return [
        (
            f"{one.environment}: {len(one.kills)} kills in {one.seconds:.0f} s, {recovered} recovered, "
            f"{len(one.violations)} violations, {one.requests} requests, {one.instances} instances"
        ),
        f"    actions (asked for, accepted): {_actions(one)}",
        f"    consoles typed into: {one.consoles}; backups: {one.backups}, restored and compared: {one.restored}",
        f"    killed: {', '.join(f'{name} {times}' for name, times in sorted(by_process.items()))}",
        f"    at random moments: {sum(not kill.point for kill in one.kills)}",
        f"    seconds to quiet: {', '.join(f'{name} {value:g}' for name, value in figures.items()) or '-'}",
        f"    points: {len(one.points)}, not struck here: {len(points_never_injected(one))}",
    ]


def _actions(one: Outcome) -> str:
    return ", ".join(f"{name} {asked} {accepted}" for name, (asked, accepted) in one.actions.items()) or "-"


def _point_lines(kills: Sequence[Injection]) -> list[str]:
    by_point: dict[str, list[float]] = defaultdict(list)
    for kill in kills:
        by_point[kill.point or "(a random moment)"].append(kill.quiet_s)
    return [
        f"  {len(times):4d}  {statistics.median(times):6.2f} {max(times):6.2f}  {point}"
        for point, times in sorted(by_point.items())
    ]


def _never_lines(points: set[str], armed: set[str]) -> list[str]:
    passed_by = len(points & armed)
    lines = [f"  {point}{' (armed, and nobody passed)' if point in armed else ''}" for point in sorted(points)]
    return [f"Not struck: {len(points)}; {passed_by} of them were armed and nobody passed", *lines]


def _healed_lines(outcomes: Sequence[Outcome]) -> list[str]:
    healed = [(one, kill) for one in outcomes for kill in one.kills if kill.healed and not kill.violations]
    lines = ["", f"Out of order for a moment after everything had ended, then put right: after {len(healed)} kills"]
    for one, kill in healed[:MAX_LINES]:
        where = kill.point or "a random moment"
        lines.append(f"  {one.environment} #{kill.number} {kill.process} at {where}: {kill.healed[0]}")
    return lines


def _evidence_lines(outcomes: Sequence[Outcome]) -> list[str]:
    lines = []
    for one in outcomes:
        for kill in one.injections:
            if kill.violations:
                where = kill.point or "a random moment"
                lines += [
                    "",
                    f"VIOLATION {one.environment} #{kill.number}: {kill.process or 'nobody'} killed at {where}",
                ]
                lines += [f"  {line}" for line in kill.violations]
        if one.faults:
            lines += ["", f"VIOLATION {one.environment}, at no kill:", *(f"  {line}" for line in one.faults)]
    return lines


def _kind_of(process: str) -> str:
    """web, conductor, agent-q (real guests) or agent-t (simulated)."""
    return process[:7] if process.startswith("agent-") else process.partition("-")[0]
