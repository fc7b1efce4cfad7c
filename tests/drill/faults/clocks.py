"""An agent whose clock jumps, and one that stands still for longer than its lease."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.drill.faults.fault import (
    WITH_POSTGRES,
    Evidence,
    Fault,
    delete,
    expect,
    instance,
    is_active,
    load_counts,
    log_of,
    make,
    query,
    runs_on,
    under_load,
    until,
    works,
)
from tests.drill.stage import Environment, Stage

HOST = "t1"
HOUR = "3600"
STEADY_S = 3.0
PAUSED_S = 8.0  # the stage's leases are 3 s
HANG_S = 3.0
SHIM = Path(__file__).with_name("wall_clock.c")


def _shim(stage: Stage) -> Path:
    """The library that is preloaded: a wall clock that is off, and nothing else. Needs a C compiler."""
    library = stage.directory / "wall_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True, capture_output=True)
    return library


@contextmanager
def _clock(stage: Stage, name: str) -> Iterator[Path]:
    """The process with a wall clock that is as far off as the file says, in seconds; it may be moved while it runs."""
    file = stage.directory / "clock"
    _move(file, "+0")
    process = stage.processes[name]
    process.env_extra = {"LD_PRELOAD": str(_shim(stage)), "WALL_CLOCK_FILE": str(file)}
    process.restart()
    try:
        yield file
    finally:
        process.env_extra = {}
        process.restart()


def _move(file: Path, offset: str) -> None:
    part = file.with_suffix(".part")
    part.write_text(f"{offset}\n")
    shutil.move(part, file)


def agent_clock_jumps(stage: Stage) -> Evidence:
    """An hour ahead, an hour behind, and back, under load: deadlines and leases are the database's, waits monotonic."""
    began = load_counts(stage)
    built = []
    with _clock(stage, f"agent-{HOST}") as file, under_load(stage):
        first = make(stage, host=HOST)
        until(lambda: is_active(stage, first), 60, "the agent builds with the faked clock")
        for offset in (f"+{HOUR}", f"-{HOUR}", "+0"):
            _move(file, offset)
            uid = make(stage, host=HOST)
            built.append(until(partial(is_active, stage, uid), 90, f"it builds with its clock at {offset} s"))
            time.sleep(STEADY_S)
            silent_s = float(stage._ask_auditor("hosts")[HOST])
            expect(0 <= silent_s < 8, f"its heartbeats are told by the database's clock: silent for {silent_s:.1f} s")
    off = _lines_off(stage)
    expect(off, "the agent's own log shows that its clock jumped")
    expect(not _dates_off(stage), f"no row was dated by the agent's clock: {_dates_off(stage)}")
    after = load_counts(stage)
    return {"active_s": built, "log_lines_off_by_an_hour": off, **{key: after[key] - began[key] for key in after}}


def _lines_off(stage: Stage) -> int:
    """Lines of the agent's log that are dated more than half an hour from now: proof that the clock was off."""
    now, off = time.time(), 0
    for line in log_of(stage, f"agent-{HOST}").splitlines():
        try:
            dated = time.mktime(time.strptime(line[:19], "%Y-%m-%d %H:%M:%S"))
        except ValueError:
            continue
        off += abs(dated - now) > 1800
    return off


DATED = (
    ("servers_attemptrecord", "started_at"),
    ("servers_attemptrecord", "finished_at"),
    ("servers_instanceactionevent", "started_at"),
    ("servers_instanceactionevent", "finished_at"),
    ("servers_instance", "launched_at"),
    ("work_work", "started_at"),
    ("work_work", "finished_at"),
)


def _dates_off(stage: Stage) -> list[str]:
    """Columns with a time more than half an hour from the database's now. A stage lives for minutes only."""
    if stage.env is Environment.SQLITE:
        far = "abs(julianday({0}) - julianday('now')) > 1800.0 / 86400"
    else:
        far = "abs(extract(epoch FROM {0} - now())) > 1800"
    return [
        f"{table}.{column}"
        for table, column in DATED
        if query(stage, f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL AND {far.format(column)}")  # noqa: S608
    ]


def agent_stands_still(stage: Stage) -> Evidence:
    """SIGSTOP in the middle of a build, its instance deleted meanwhile, SIGCONT: it is fenced and writes nothing."""
    agent = stage.processes[f"agent-{HOST}"]
    stage.arm("libvirt.create", f"hang {HANG_S}")
    uid = make(stage, host=HOST)
    until(lambda: stage.fired("libvirt.create"), 90, "the start hangs")
    mark = len(log_of(stage, f"agent-{HOST}"))
    agent.pause()
    try:
        time.sleep(PAUSED_S)
        delete(stage, uid)
        (build,) = works(stage, uid, "build")
        expect(build["state"] == "cancelled", f"the deletion ends the build: {build}")
        events = _events(stage, uid)
    finally:
        agent.resume()
    took = until(lambda: instance(stage, uid) is None, 90, f"{uid} is deleted after the agent woke up")
    expect(not runs_on(stage, uid), "what the woken build may have started is gone")
    expect(works(stage, uid, "build") == [build], "the fenced attempt wrote nothing of its work")
    expect(_events(stage, uid) == events, "nor any end of its steps")
    said = log_of(stage, f"agent-{HOST}")[mark:]
    words = ("is fenced", "stops:", "is left for later")
    expect(any(one in said for one in words), f"and it says that it is fenced: {said[-2000:]}")
    return {"paused_s": PAUSED_S, "deleted_s": took}


def _events(stage: Stage, uid: str) -> list[tuple[object, ...]]:
    sql = """SELECT e.name, e.result, e.finished_at FROM servers_instanceactionevent e
             JOIN servers_instanceaction a ON a.id = e.action_id
             WHERE a.instance_uuid = ? AND a.action = 'create' ORDER BY e.id"""
    return query(stage, sql, uid)


def agent_stands_still_and_goes_on(stage: Stage) -> Evidence:
    """SIGSTOP past the lease with nobody else interested: the same host takes its own work again, and ends it once."""
    agent = stage.processes[f"agent-{HOST}"]
    stage.arm("libvirt.create", f"hang {HANG_S}")
    uid = make(stage, host=HOST)
    until(lambda: stage.fired("libvirt.create"), 90, "the start hangs")
    agent.pause()
    time.sleep(PAUSED_S)
    agent.resume()
    took = until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE after all")
    expect(runs_on(stage, uid) == [HOST], "it runs once")
    (build,) = works(stage, uid, "build")
    expect(build["attempt"] == 2, f"the second attempt made it, as the first had lost its lease: {build}")
    return {"paused_s": PAUSED_S, "active_s": took, "attempts": build["attempt"]}


FAULTS = (
    # SQLite has no clock but that of the process that asks, and lives on one machine, whose processes share one.
    Fault("agent-clock-jumps", agent_clock_jumps, WITH_POSTGRES),
    Fault("agent-stands-still-fenced", agent_stands_still),
    Fault("agent-stands-still-goes-on", agent_stands_still_and_goes_on),
)
