"""What a fault of the drill is, and the eyes that all of them share.

A fault breaks something on a running stage and says what must follow from exactly that (`expect`). Whether anything
was lost is judged after it by the same verdict as after a kill.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg2

from tests.drill.stage import AgentSpec, Environment, Stage, agents

Evidence = dict[str, Any]
EVERYWHERE = (Environment.SQLITE, Environment.POSTGRES, Environment.REDIS)
WITH_POSTGRES = (Environment.POSTGRES, Environment.REDIS)
LIBVIRT_POINTS = "tests.drill.faults.libvirt_points:with_points"
THREE_SIMULATED = tuple(agents(qemu=0, test=3, wraps=(LIBVIRT_POINTS,)))
ONE_REAL_TWO_SIMULATED = tuple(agents(qemu=1, test=2, wraps=(LIBVIRT_POINTS,)))
POLL_S = 0.1
SERVER_ERRORS = (sqlite3.Error, psycopg2.Error, OSError, RuntimeError)


class UnexpectedError(AssertionError):
    """The fault did not have the outcome that it must have."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`run` breaks something and gives what was seen; it raises UnexpectedError when that is not what must follow.

    Faults with the same agents and settings share a stage. `quiet_s` is how long everything may take to be in order
    again afterwards. `programs` stand in the place of processes of these names. A negative control `must_fail`: were it
    to pass, the drill would prove nothing.
    """

    name: str
    run: Callable[[Stage], Evidence]
    environments: tuple[Environment, ...] = EVERYWHERE
    agents: tuple[AgentSpec, ...] = THREE_SIMULATED
    settings: Mapping[str, str] = field(default_factory=dict)
    quiet_s: float = 60.0
    programs: Mapping[str, str] = field(default_factory=dict)
    must_fail: bool = False
    has_ovn: bool = False
    """The stage has OVN's northbound database."""


def expect(condition: object, what: str) -> None:
    """Raises UnexpectedError."""
    if not condition:
        raise UnexpectedError(what)


def until(condition: Callable[[], object], within_s: float, what: str) -> float:
    """Seconds until `condition` holds; errors of servers that are away count as 'not yet'. Raises UnexpectedError."""
    began = time.monotonic()
    while not _holds(condition):
        expect(time.monotonic() - began < within_s, f"not within {within_s:g} s: {what}")
        time.sleep(POLL_S)
    return round(time.monotonic() - began, 2)


def _holds(condition: Callable[[], object]) -> bool:
    try:
        return bool(condition())
    except SERVER_ERRORS:
        return False


def query(stage: Stage, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows of the stage's database, read past every service. Placeholders are `?`."""
    if stage.env is Environment.SQLITE:
        with closing(sqlite3.connect(stage.directory / "kilonova.sqlite3", timeout=10)) as rows, rows:
            texts = [str(value).replace("-", "") if _is_uuid(value) else value for value in values]
            return rows.execute(sql, texts).fetchall()
    with closing(psycopg2.connect(database_url(stage))) as connection, connection, connection.cursor() as cursor:
        cursor.execute(sql.replace("?", "%s"), values)
        return list(cursor.fetchall()) if cursor.description else []


def database_url(stage: Stage) -> str:
    """DATABASE_URL of the stage's processes."""
    return stage.processes["web"].manager.env["DATABASE_URL"]


def _is_uuid(value: object) -> bool:
    text = str(value)
    return len(text) == 36 and text.count("-") == 4


@contextmanager
def agents_with(stage: Stage, option: str, value: str, *, hosts: Sequence[str] = ()) -> Iterator[None]:
    """The agents of `hosts` (of all) run with another value of `option`; afterwards as before."""
    names = [f"agent-{each.host}" for each in stage.agents if not hosts or each.host in hosts]
    before = {name: stage.processes[name].arguments for name in names}
    changed = {name: list(arguments) for name, arguments in before.items()}
    for arguments in changed.values():
        arguments[arguments.index(option) + 1] = value
    try:
        _restart_with(stage, changed)
        yield
    finally:
        _restart_with(stage, before)


def _restart_with(stage: Stage, arguments: Mapping[str, list[str]]) -> None:
    for name, words in arguments.items():
        stage.processes[name].arguments = words
        stage.processes[name].restart()
    until(lambda: all(each.is_known for each in stage.guests()), 90, "the agents' drivers are open")


def make(
    stage: Stage,
    *,
    host: str = "",
    image: int = 0,
    hints: Mapping[str, str] | None = None,
    may_have_volumes: bool = False,
) -> str:
    """Ask for one instance of that image, on `host` or anywhere, its disk there unless it may have volumes; its id. It
    counts as promised.
    """
    before = set(stage.load.promises.created)
    stage.load.create(1, host=host, image=image, hints=hints, may_have_volumes=may_have_volumes)
    made = stage.load.promises.created - before
    expect(made, "the API accepts a create")
    return made.pop()


def instance(stage: Stage, uid: str) -> dict[str, Any] | None:
    """The row as the auditor has it; None when it is deleted."""
    return next((one for one in stage.rows()["instances"] if str(one["id"]) == uid), None)


def is_active(stage: Stage, uid: str) -> bool:
    """Whether it runs and nothing is under way with it. Raises UnexpectedError for one that has failed: it stays so."""
    rows = stage.rows()
    one = next((one for one in rows["instances"] if str(one["id"]) == uid), None)
    if one is None:
        return False
    expect(one["vm_state"] != "error", f"{uid} has failed: {rows['faults'].get(uid, 'it says not why')}")
    return one["vm_state"] == "active" and not one["task_state"]


def attempts(stage: Stage, uid: str) -> list[dict[str, Any]]:
    """Number, host, outcome and reason of every host that was tried."""
    names = ("number", "host", "outcome", "reason")
    sql = f"SELECT {', '.join(names)} FROM servers_attemptrecord WHERE instance_uuid = ? ORDER BY number"  # noqa: S608
    return [dict(zip(names, row, strict=True)) for row in query(stage, sql, uid)]


def works(stage: Stage, uid: str, kind: str) -> list[dict[str, Any]]:
    """All work of one kind for an instance, ended or not."""
    names = ("id", "state", "attempt", "step", "lease_owner")
    sql = f"SELECT {', '.join(names)} FROM work_work WHERE subject = ? AND kind = ? ORDER BY created_at"  # noqa: S608
    return [dict(zip(names, row, strict=True)) for row in query(stage, sql, uid, kind)]


def failed_builds(stage: Stage) -> dict[str, int]:
    """The counter of each host."""
    return dict(query(stage, "SELECT host, failed_builds FROM scheduling_computenode"))


def runs_on(stage: Stage, uid: str) -> list[str]:
    """The hosts whose hypervisor runs this guest."""
    return [each.host for each in stage.guests() for one, active in each.domains if one == uid and active]


def delete(stage: Stage, uid: str) -> None:
    """Delete one; it counts as promised."""
    stage.load.delete(uid)


def log_of(stage: Stage, process: str) -> str:
    """What it has written so far."""
    return (stage.directory / "logs" / f"{process}.log").read_text(errors="replace")


@contextmanager
def under_load(stage: Stage) -> Iterator[None]:
    """Bursts of mixed requests, one after the other, for as long as the block runs."""
    ended = threading.Event()

    def bursts() -> None:
        rows: Sequence[dict[str, Any]] = []
        while not ended.wait(0.2):
            try:
                rows = [one for one in stage.rows()["instances"] if not one["task_state"]]
            except (OSError, RuntimeError):
                rows = []
            stage.load.burst(rows)

    thread = threading.Thread(target=bursts, name="load", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def load_counts(stage: Stage) -> Evidence:
    """What the load has asked for so far."""
    promises = stage.load.promises
    return {
        "requests": promises.requests,
        "accepted_creates": len(promises.created),
        "accepted_deletes": len(promises.deleted),
        "refused": promises.refused,
        "broken": promises.broken,
    }
