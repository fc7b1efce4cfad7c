"""Two agents started for one host: on the same state directory, and on two (two machines by mistake)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.drill.faults.fault import (
    Evidence,
    Fault,
    expect,
    instance,
    is_active,
    make,
    query,
    runs_on,
    until,
)
from tests.drill.stage import NOTHING_OF_THE_CONTROL_PLANE, ROOT, Stage

HOST = "t1"
DOWN_S = 4
SILENT_SOON = {"SERVICE_DOWN_TIME_S": str(DOWN_S)}


def same_directory(stage: Stage) -> Evidence:
    """Refused by the lock of the host, before it says anything to the control plane."""
    done = _second(stage, stage.directory / "agents" / HOST)
    expect(done.returncode == 1, f"the second one ends with 1: {done}")
    expect(f"an agent for host {HOST} already runs on" in done.stderr, f"and says why: {done.stderr!r}")
    expect(f"(pid {stage.processes[f'agent-{HOST}'].pid})" in done.stderr, f"and names the other: {done.stderr!r}")
    return {"exit": done.returncode, "message": done.stderr.strip().splitlines()[-1]}


def two_directories(stage: Stage) -> Evidence:
    """Refused by the control plane while the first one is alive: it would find no guest, and bring all of them back."""
    uid = _active_here(stage)
    before = _node(stage)
    done = _second(stage, stage.directory / "twin")
    expect(done.returncode == 1, f"the second one ends with 1: {done}")
    expect("which is alive" in done.stderr and "--host" in done.stderr, f"and says what to do: {done.stderr!r}")
    expect(runs_on(stage, uid) == [HOST], "the guest runs once")
    expect(_node(stage) == before, "nothing of what the first one reported has changed")
    return {"exit": done.returncode, "message": done.stderr.strip().splitlines()[-1]}


def first_one_silent(stage: Stage) -> Evidence:
    """Refused even when the first one has been silent for long: its guests may still run. It comes back and goes on."""
    uid = _active_here(stage)
    first = stage.processes[f"agent-{HOST}"]
    first.pause()
    try:
        until(lambda: _silent_s(stage) > DOWN_S + 1, DOWN_S + 15, "the first agent counts as down")
        done = _second(stage, stage.directory / "twin")
    finally:
        first.resume()
    expect(done.returncode == 1, f"the second one ends with 1: {done}")
    expect("instances are not on this hypervisor" in done.stderr, f"and says why: {done.stderr!r}")
    expect(runs_on(stage, uid) == [HOST], "the guest runs once, where it was")
    other = make(stage, host=HOST)
    took = until(lambda: is_active(stage, other), 90, "the first one builds again")
    return {"message": done.stderr.strip().splitlines()[-1], "first_builds_again_s": took}


def _active_here(stage: Stage) -> str:
    uid = make(stage, host=HOST)
    until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE on {HOST}")
    expect((instance(stage, uid) or {}).get("host") == HOST, f"it is on {HOST}")
    return uid


def _second(stage: Stage, state: Path) -> "subprocess.CompletedProcess[str]":
    """`python -m computeagent` as a person would start it, on a hypervisor of its own, until it ends. It has the secret
    of the first one: as from a copy of that machine's configuration.
    """
    arguments = stage.processes[f"agent-{HOST}"].arguments
    words = {arguments[place]: arguments[place + 1] for place in range(0, len(arguments), 2)}
    state.mkdir(exist_ok=True)
    shutil.copyfile(Path(words["--state"]) / "secret", state / "secret.copy")
    (state / "secret.copy").replace(state / "secret")
    command = [sys.executable, "-m", "computeagent", "--state", str(state)]
    for option in ("--host", "--control-plane", "--libvirt-uri"):
        command += [option, words[option]]
    return subprocess.run(
        command,
        env={**os.environ, **NOTHING_OF_THE_CONTROL_PLANE},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _node(stage: Stage) -> list[tuple[object, ...]]:
    return query(stage, "SELECT id, host, hypervisor_hostname, vcpus, memory_mib FROM scheduling_computenode")


def _silent_s(stage: Stage) -> float:
    return float(stage._ask_auditor("hosts")[HOST])


FAULTS = (
    Fault("two-agents-one-directory", same_directory),
    Fault("two-agents-two-directories", two_directories),
    Fault("two-agents-first-silent", first_one_silent, settings=SILENT_SOON),
)
