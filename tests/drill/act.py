"""One environment's part of a drill, from an empty directory to its outcome."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.drill.fault_injector import QUIET_LIMIT_S, FaultInjector, Injection
from tests.drill.report import Outcome
from tests.drill.schedule import Kill, Schedule
from tests.drill.stage import ROOT, Environment, Stage, agents
from tests.drill.without import CONTROLS

RECORDED_BURSTS = 3
SHORT_DRILL = 20
CONTROL_LIMIT_S = 30.0
"""A control only has to show a violation, not that it lasts."""
MAX_VIOLATIONS = 20
MAX_HITS_PER_KILL = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is done to it. `only`: words of points; `without`: a negative control."""

    kills: int
    seed: int
    real: int
    simulated: int
    conductors: int = 1
    only: tuple[str, ...] = ()
    without: str = ""
    injected: tuple[str, ...] = ()
    """Points that earlier environments of the same drill struck."""


def play(environment: Environment, directory: Path, plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Start it, learn its points, strike, drain it, and ask `manage.py audit` at last."""
    directory.mkdir(parents=True)
    began = time.monotonic()
    control = CONTROLS.get(plan.without)
    wraps = control.wraps if control else ()
    hosts = agents(qemu=plan.real, test=plan.simulated, wraps=wraps)
    outcome = Outcome(str(environment))
    with Stage(environment, directory, hosts, conductors=plan.conductors, seed=plan.seed) as stage:
        say(f"{environment}: {len(stage.processes)} programs run after {time.monotonic() - began:.0f} s")
        outcome.faults += _record(stage, RECORDED_BURSTS if plan.kills > SHORT_DRILL else 1)
        only = plan.only or (control.points if control else ())
        if not outcome.faults:
            _inject_all(stage, Schedule(plan.seed, only=only, injected=plan.injected), plan, outcome, say)
        outcome.points = stage.points()
        outcome.faults += _drain(stage)
        outcome.faults += _audit_by_command(stage)
        outcome.requests = stage.load.promises.requests
        outcome.instances = len(stage.load.promises.created)
    outcome.seconds = time.monotonic() - began
    return outcome


def _record(stage: Stage, bursts: int) -> list[str]:
    """The load without any kill: every point is passed once, and nothing may be out of order."""
    for _ in range(bursts):
        stage.load.burst(stage.rows()["instances"])
        stage.wait_quiet(QUIET_LIMIT_S)
    return stage.verdict()


def _inject_all(stage: Stage, schedule: Schedule, plan: Plan, outcome: Outcome, say: Callable[[str], None]) -> None:
    injector = FaultInjector(stage, plan.seed, quiet_limit_s=CONTROL_LIMIT_S if plan.without else QUIET_LIMIT_S)
    while len(outcome.kills) < plan.kills and len(outcome.injections) < MAX_HITS_PER_KILL * plan.kills:
        kill = schedule.next(stage.points())
        injection = injector.injection(kill)
        _note(schedule, kill, injection)
        outcome.injections.append(injection)
        say(_line(injection, len(outcome.kills)))
        if plan.without and outcome.violations:
            return
        if len(outcome.violations) > MAX_VIOLATIONS:
            outcome.faults.append(f"given up after {len(outcome.kills)} kills: more than {MAX_VIOLATIONS} violations")
            return


def _note(schedule: Schedule, kill: Kill, injection: Injection) -> None:
    if kill.point:
        (schedule.injected if injection.hit else schedule.missed)(kill)


def _line(injection: Injection, kills: int) -> str:
    where = injection.point or "a random moment"
    head = f"{injection.environment} {kills:4d} {injection.process or 'nobody':14} {injection.quiet_s:6.2f} s  {where}"
    return "\n".join([head, *(f"    VIOLATION {line}" for line in injection.violations)])


def _drain(stage: Stage) -> list[str]:
    """Delete all there is: then no guest, no file and no claim may be left."""
    for one in stage.rows()["instances"]:
        stage.load.delete(str(one["id"]))
    stage.wait_quiet(QUIET_LIMIT_S)
    left = [f"{one['name']} {one['id']} is left after all were deleted" for one in stage.rows()["instances"]]
    return [line for line in [*stage.verdict(), *left] if not any(uid in line for uid in stage.reported)]


def _audit_by_command(stage: Stage) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "audit"],
        env=stage.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return [] if done.returncode == 0 else [f"manage.py audit: {done.stdout}{done.stderr[-2000:]}"]
