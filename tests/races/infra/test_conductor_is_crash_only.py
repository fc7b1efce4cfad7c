"""`manage.py conductor` under kill -9: whichever child dies, the tree ends as one and a new one works on."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fixtures.processes import Processes
from tests.races.infra.test_doorbells_between_processes import environment, run, wait_for

CANARY_HELD = """
import django
django.setup()
from controlplane.infra.models import SoloLease
print(SoloLease.objects.filter(name="conductor-canary").values_list("until", flat=True).first())
"""


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, check=False).stdout.split()
    return [int(one) for one in found]


def is_alive(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


@pytest.fixture
def env(tmp_path: Path, sqlite_file_url: str) -> dict[str, str]:
    found = environment(tmp_path, sqlite_file_url)
    run(found, "manage.py", "migrate", "-v0")
    return found


def started(env: dict[str, str], processes: Processes) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A conductor, and its whole tree once it has all its children: sentinel, worker, monitor, pusher."""
    conductor = processes.manage("conductor", "--workers", "1", env=env)
    tree: list[int] = []

    def is_complete() -> bool:
        tree[:] = [pid for sentinel in children(conductor.pid) for pid in [sentinel, *children(sentinel)]]
        return len(tree) == 4

    wait_for(is_complete)
    time.sleep(0.5)
    return conductor, list(tree)


@pytest.mark.processes
@pytest.mark.parametrize("victim", ["sentinel", "worker", "monitor", "pusher", "main"])
def test_killing_any_process_ends_the_whole_tree(victim: str, env: dict[str, str], processes: Processes) -> None:
    conductor, tree = started(env, processes)
    place = {"sentinel": 0, "worker": 1, "monitor": 2, "pusher": 3}
    os.kill(conductor.pid if victim == "main" else tree[place[victim]], signal.SIGKILL)
    conductor.wait(15)
    wait_for(lambda: not any(is_alive(pid) for pid in tree), 10)
    again, _ = started(env, processes)
    before = run(env, "-c", CANARY_HELD)
    wait_for(lambda: run(env, "-c", CANARY_HELD) != before, 20)
    assert again.poll() is None


@pytest.mark.processes
def test_sigterm_stops_it_cleanly_within_ten_seconds(env: dict[str, str], processes: Processes) -> None:
    conductor, tree = started(env, processes)
    conductor.terminate()
    assert conductor.wait(10) == 0, processes.log(conductor)
    assert not any(is_alive(pid) for pid in tree)
