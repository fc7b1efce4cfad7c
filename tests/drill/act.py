"""One environment's part of a drill, from an empty directory to its outcome."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from computeagent.protocol.consoles import ConsoleKind
from tests.drill.fault_injector import QUIET_LIMIT_S, FaultInjector, Injection
from tests.drill.names import POOL, RESTORED, TYPES, VOLUME
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
TRIES = 3
MAX_CHAIN = 8
"""An increment goes before what it rests on."""


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
    quiet_s: float = QUIET_LIMIT_S
    """Within which all must be in order after a kill."""
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
    with Stage(
        environment, directory, hosts, conductors=plan.conductors, seed=plan.seed, has_ovn=plan.simulated > 0
    ) as stage:
        say(f"{environment}: {len(stage.processes)} programs run after {time.monotonic() - began:.0f} s")
        outcome.faults += _record(stage, RECORDED_BURSTS if plan.kills > SHORT_DRILL else 1, plan.quiet_s)
        only = plan.only or (control.points if control else ())
        if not outcome.faults:
            _inject_all(stage, Schedule(plan.seed, only=only, injected=plan.injected), plan, outcome, say)
        outcome.points = stage.points()
        outcome.faults += _drain(stage, plan.quiet_s)
        outcome.faults += _audit_by_command(stage)
        outcome.requests = stage.load.promises.requests
        outcome.actions = stage.load.promises.actions
        outcome.instances = len(stage.load.promises.created)
        outcome.consoles, outcome.backups = stage.load.consoles.typed, len(stage.load.backups.known)
        outcome.restored = len(stage.compared)
    outcome.seconds = time.monotonic() - began
    return outcome


def _record(stage: Stage, bursts: int, quiet_s: float) -> list[str]:
    """The load without any kill: every point is passed once, every host builds, and nothing may be out of order."""
    for number, each in enumerate(stage.agents):
        stage.load.create(1, host=each.host, boots_from_volume=True if number == 0 else None)
    stage.wait_quiet(quiet_s)
    lacking = _with_device(stage, quiet_s) if stage.load.devices else []
    one_of_each = set(stage.load.promises.created)
    for number in range(bursts):
        stage.load.burst(stage.rows()["instances"], rebuilding_volume=number == 0)
        stage.wait_quiet(quiet_s)
    shown = _consoles_and_backups(stage, sorted(one_of_each), quiet_s)
    one_of_each -= stage.load.actions.reset  # whose record the load had say error
    faults = {uid: fault for uid, fault in stage.rows()["faults"].items() if uid in one_of_each}
    return [
        *lacking,
        *shown,
        *stage.verdict(),
        *(f"{uid} has failed without any kill: {fault}" for uid, fault in faults.items()),
    ]


def _with_device(stage: Stage, quiet_s: float) -> list[str]:
    """Demanded once: an instance gets a device of its host for a port."""
    devices = stage.load.devices
    for _ in range(2):  # the port, and then the instance
        if devices is not None:
            devices.make()
    stage.wait_quiet(quiet_s)
    return [] if stage.rows()["devices"] else ["no instance has had a device of its host"]


def _consoles_and_backups(stage: Stage, instances: list[str], quiet_s: float) -> list[str]:
    """What the load only tries, demanded once: a console of each kind of host is typed into, and a backup and an
    increment of it are made and restored.
    """
    hosts = {str(one["id"]): str(one["host"]) for one in stage.rows()["instances"] if one["vm_state"] == "active"}
    kinds = {hosts[uid][0]: uid for uid in instances if uid in hosts}
    faults = [
        f"nobody can type into a console of {uid} on {hosts[uid]}"
        for uid in kinds.values()
        if not any(stage.load.consoles.look(uid, hosts[uid], ConsoleKind.VNC) for _ in range(TRIES))
    ]
    made = stage.load.ask("volumes/", {"size_gib": 1, "name": VOLUME}) or {}
    faults += _moved_and_uploaded(stage, quiet_s)
    uid = ""
    for is_incremental in (False, True):
        stage.load.backups.write(str(made.get("id")))
        # Without a kept snapshot bytes tell what changed; by the next one, the snapshot does.
        uid = stage.load.backups.of_volume(
            str(made.get("id")), is_incremental=is_incremental, keeps_snapshot=is_incremental
        )
        stage.wait_quiet(quiet_s)
    stage.load.ask(f"volume-backups/{uid}/restore/", {"name": RESTORED})
    stage.wait_quiet(quiet_s)
    return faults if stage.compared else [*faults, "no volume has been restored from a backup and its increment"]


def _moved_and_uploaded(stage: Stage, quiet_s: float) -> list[str]:
    """Likewise: a volume is copied into another pool, and one becomes an image."""
    ask, bodies = stage.load.ask, [{"size_gib": 1, "name": VOLUME, "volume_type": TYPES[POOL]}] * 2
    ids = [str((ask("volumes/", body) or {}).get("id")) for body in bodies]
    stage.wait_quiet(quiet_s)
    moved, uploaded = (ask(f"volumes/{uid}/", None, "GET") or {} for uid in ids)
    wanted = stage.load.volumes.retype(moved)
    image = stage.load.volumes.image_of(str(uploaded["id"]))
    stage.wait_quiet(quiet_s)
    has_moved = (ask(f"volumes/{ids[0]}/", None, "GET") or {}).get("volume_type_name") == wanted
    is_image = (ask(f"images/{image}/", None, "GET") or {}).get("status") == "active"
    faults = {"no volume was copied into another pool": has_moved, "no volume has become an image": is_image}
    return [words for words, is_so in faults.items() if not is_so]


def _inject_all(stage: Stage, schedule: Schedule, plan: Plan, outcome: Outcome, say: Callable[[str], None]) -> None:
    injector = FaultInjector(stage, plan.seed, quiet_limit_s=CONTROL_LIMIT_S if plan.without else plan.quiet_s)
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


def _drain(stage: Stage, quiet_s: float) -> list[str]:
    """Delete all there is: then no guest, no file and no claim may be left."""
    for one in stage.rows()["instances"]:
        stage.load.delete(str(one["id"]))
    stage.wait_quiet(quiet_s)
    for _ in range(MAX_CHAIN):
        if not stage.load.backups.drain():
            break
        stage.periodic_tasks_due()
        stage.wait_quiet(quiet_s)
    left = [f"backup {uid} is left after all were deleted" for uid in stage.load.backups.drain()]
    left += stage.load.consoles.usable(has_expired=True)
    left += stage.load.images.drain()
    left += stage.load.actions.drain()  # before the snapshots of volumes that they name
    stage.wait_quiet(quiet_s)
    left += stage.load.actions.left()
    left += stage.load.volumes.drain()  # what instances made is gone with them by now
    stage.wait_quiet(quiet_s)
    left += [f"volume {one['id']} is left after all were deleted" for one in stage.rows()["volumes"]]
    if stage.load.devices:
        stage.load.devices.drain()
    stage.load.ports.drain()
    left += [line for one in stage.load.networks for line in one.drain()] + stage.load.networks[0].left()
    stage.wait_quiet(quiet_s)  # OVN is told
    left += [f"{one['name']} {one['id']} is left after all were deleted" for one in stage.rows()["instances"]]
    left += [f"{one['address']} of {one['host']} is claimed after all were deleted" for one in stage.rows()["devices"]]
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
