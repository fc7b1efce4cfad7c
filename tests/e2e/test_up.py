"""`manage.py up`, as a person uses it: start, create, stop, start again."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.fixtures.installations import Installation
from tests.fixtures.processes import Processes
from tests.fixtures.servers import wait_until

pytestmark = pytest.mark.processes

STOP_LIMIT_S = 10


def test_one_command_gives_an_active_instance_and_one_signal_ends_all(processes: Processes, tmp_path: Path) -> None:
    here = Installation(processes, tmp_path / "state", driver="fake", hypervisors=2)
    here.start()
    assert here.raw_call("GET", "/readyz", None, {}) == (200, {"ready": True, "reasons": []})
    instance = here.wait_for_status(here.create("first"), "ACTIVE")
    assert instance["host"] in {"hv-1", "hv-2"}
    assert here.stop() < STOP_LIMIT_S
    assert here.running_parts() == {}


@pytest.mark.libvirt
def test_simulated_hosts_bring_their_instances_back_after_a_restart(processes: Processes, tmp_path: Path) -> None:
    here = Installation(processes, tmp_path / "state", driver="test")
    here.start()
    instance_id = here.create("lasting")
    before = here.wait_for_status(instance_id, "ACTIVE")
    here.stop()
    here.start()
    after = here.wait_for_status(instance_id, "ACTIVE")
    assert after["host"] == before["host"]


@pytest.mark.postgres
@pytest.mark.redis
def test_postgres_and_redis_come_by_environment(
    processes: Processes, tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    here = Installation(processes, tmp_path / "state", driver="fake", DATABASE_URL=postgres_url, REDIS_URL=redis_url)
    here.start()
    here.wait_for_status(here.create("first"), "ACTIVE")
    assert not list((tmp_path / "state").glob("*.sqlite3"))
    assert here.stop() < STOP_LIMIT_S


@pytest.mark.parametrize("part", ["gunicorn", "conductor", "compute_agent"])
def test_killed_part_is_started_again_and_work_goes_on(processes: Processes, tmp_path: Path, part: str) -> None:
    here = Installation(processes, tmp_path / "state", driver="fake")
    here.start()
    here.wait_for_status(here.create("before"), "ACTIVE")
    killed = here.pid_of(part)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: _replaced(here, part, killed), timeout_s=20, what=f"{part} runs again")
    wait_until(lambda: _answers(here), timeout_s=30, what="the web server answers")
    here.wait_for_status(here.create("after"), "ACTIVE", timeout_s=90)


def test_killing_up_itself_leaves_no_process(processes: Processes, tmp_path: Path) -> None:
    here = Installation(processes, tmp_path / "state", driver="fake")
    up = here.start()
    os.kill(up.pid, signal.SIGKILL)
    up.wait()
    wait_until(lambda: not here.running_parts(), timeout_s=10, what="all parts died with it")


def test_second_up_on_a_state_in_use_says_so(processes: Processes, tmp_path: Path) -> None:
    here = Installation(processes, tmp_path / "state", driver="fake")
    first = here.start()
    second = processes.manage(*here.command(), env=here.env)
    assert second.wait(timeout=30) == 1
    assert f"already runs on {tmp_path / 'state'} (process {first.pid})" in processes.log(second)


@pytest.mark.qemu
@pytest.mark.libvirt
def test_real_guest_says_hello_survives_a_restart_and_leaves_nothing(processes: Processes, tmp_path: Path) -> None:
    here = Installation(processes, tmp_path / "state", driver="qemu", hypervisors=2)
    here.start()
    instance_id = here.create("first")
    try:
        here.wait_for_status(instance_id, "ACTIVE")
        wait_until(
            lambda: "Hello from first" in here.console(instance_id), timeout_s=90, every_s=0.5, what="the guest's hello"
        )
        guests = _guests(here.state)
        assert len(guests) == 1
        assert here.stop() < STOP_LIMIT_S
        assert _guests(here.state) == guests
        here.start()
        assert here.wait_for_status(instance_id, "ACTIVE")["power_state"] == "running"
        here.delete_and_wait(instance_id)
        wait_until(lambda: not _guests(here.state), timeout_s=15, what="no QEMU is left")
        assert not [path for path in here.state.rglob("*") if instance_id in path.name and path.suffix != ".lock"]
    finally:
        for pid in _guests(here.state):
            os.kill(pid, signal.SIGKILL)


def _replaced(here: Installation, part: str, killed: int) -> bool:
    try:
        return here.pid_of(part) != killed
    except StopIteration:
        return False


def _answers(here: Installation) -> bool:
    try:
        return here.raw_call("GET", "/healthz", None, {})[0] == 200
    except OSError:
        time.sleep(0.2)
        return False


def _guests(state: Path) -> set[int]:
    """QEMU processes whose files are under `state`."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"qemu-system" in command and str(state).encode() in command:
            found.add(int(entry.name))
    return found
