"""`manage.py conductor` under kill -9: whichever child dies, the tree ends as one and a new one works on."""

import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import Processes
from tests.races.work.test_wakeups_between_processes import environment

CANARY_HELD = "SELECT until FROM work_namedlease WHERE name = 'conductor-canary'"
SILENCE_S = 5
PLACES = {"sentinel": 0, "worker": 1, "monitor": 2, "pusher": 3}
GUARDS, SERVANTS = ("sentinel", "worker", "main"), ("monitor", "pusher")
"""The end of the second kind is seen as that of a worker is."""


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, check=False).stdout.split()
    return [int(one) for one in found]


def is_alive(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


@dataclass
class Conductor:
    """A conductor on a database of its own, started anew when it has ended."""

    processes: Processes
    env: dict[str, str]
    database: Path
    main: subprocess.Popen[bytes] | None = None
    tree: list[int] = field(default_factory=list)

    def running(self) -> subprocess.Popen[bytes]:
        """One that has all its children: sentinel, worker, monitor, pusher."""
        if self.main is None or self.main.poll() is not None:
            self.main = self.processes.manage("conductor", "--workers", "1", env=self.env)
            eventually(self._is_complete)
            time.sleep(0.5)
        return self.main

    def canary(self) -> list[tuple[object, ...]]:
        """Until when the last answered canary counts."""
        with closing(sqlite3.connect(self.database)) as rows:
            return rows.execute(CANARY_HELD).fetchall()

    def _is_complete(self) -> bool:
        assert self.main is not None
        self.tree = [pid for sentinel in children(self.main.pid) for pid in [sentinel, *children(sentinel)]]
        return len(self.tree) == 4


@pytest.fixture(scope="module")
def conductor(module_processes: Processes, migrated: MigratedDatabases) -> Conductor:
    directory = module_processes.directory
    database = directory / "kilonova.sqlite3"
    env = environment(directory, migrated.sqlite(database))
    env |= {"CONDUCTOR_GUARD_SILENCE_S": str(SILENCE_S), "STOP_LIMIT_S": str(int(PATIENCE_S))}
    return Conductor(module_processes, env, database)


@pytest.mark.processes
@pytest.mark.parametrize("victim", [*GUARDS, *(pytest.param(name, marks=pytest.mark.long) for name in SERVANTS)])
def test_killing_any_process_ends_the_whole_tree(victim: str, conductor: Conductor) -> None:
    main, tree = conductor.running(), list(conductor.tree)
    os.kill(main.pid if victim == "main" else tree[PLACES[victim]], signal.SIGKILL)
    main.wait(PATIENCE_S)
    eventually(lambda: not any(is_alive(pid) for pid in tree))
    before = conductor.canary()
    again = conductor.running()
    eventually(lambda: conductor.canary() != before)
    assert again.poll() is None


@pytest.mark.processes
def test_machine_that_stands_still_kills_no_conductor(conductor: Conductor) -> None:
    main, tree = conductor.running(), list(conductor.tree)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in (main.pid, *tree):
            os.kill(pid, number)
        if number == signal.SIGSTOP:
            time.sleep(SILENCE_S + 3)  # longer than its guard may be silent while it runs
    eventually(lambda: "stood still" in conductor.processes.log(main), "its judge had its next turn")
    before = conductor.canary()
    eventually(lambda: conductor.canary() != before, "its workers answer")
    assert main.poll() is None, conductor.processes.log(main)
    assert all(is_alive(pid) for pid in tree)


@pytest.mark.processes
def test_sigterm_stops_it_cleanly(conductor: Conductor) -> None:
    main = conductor.running()
    main.terminate()
    assert main.wait(PATIENCE_S) == 0, conductor.processes.log(main)
    assert not any(is_alive(pid) for pid in conductor.tree)
