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
from tests.fixtures.processes import Processes
from tests.races.work.test_wakeups_between_processes import environment, wait_for

CANARY_HELD = "SELECT until FROM work_namedlease WHERE name = 'conductor-canary'"
PLACES = {"sentinel": 0, "worker": 1, "monitor": 2, "pusher": 3}


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
            wait_for(self._is_complete)
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
    return Conductor(module_processes, environment(directory, migrated.sqlite(database)), database)


@pytest.mark.processes
@pytest.mark.parametrize("victim", [*PLACES, "main"])
def test_killing_any_process_ends_the_whole_tree(victim: str, conductor: Conductor) -> None:
    main, tree = conductor.running(), list(conductor.tree)
    os.kill(main.pid if victim == "main" else tree[PLACES[victim]], signal.SIGKILL)
    main.wait(90)
    wait_for(lambda: not any(is_alive(pid) for pid in tree))
    before = conductor.canary()
    again = conductor.running()
    wait_for(lambda: conductor.canary() != before)
    assert again.poll() is None


@pytest.mark.processes
def test_sigterm_stops_it_cleanly_within_ten_seconds(conductor: Conductor) -> None:
    main = conductor.running()
    main.terminate()
    assert main.wait(90) == 0, conductor.processes.log(main)
    assert not any(is_alive(pid) for pid in conductor.tree)
