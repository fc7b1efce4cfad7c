"""`manage.py up`, as a person uses it: start, create, stop, start again."""

import os
import signal
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from controlplane.kernel.file_locks import lock_holder
from controlplane.launcher.hypervisors import private_roots
from tests.fixtures.installation import Installation
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import Processes

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def running(module_processes: Processes, migrated: MigratedDatabases) -> Installation:
    """One that is up, for tests after which it still is."""
    state = module_processes.directory / "state"
    return Installation(module_processes, state, driver="fake", hypervisors=1, migrated=migrated).start()


def test_one_command_gives_an_active_instance_and_one_signal_ends_all(processes: Processes, tmp_path: Path) -> None:
    here = Installation(processes, tmp_path / "state", driver="fake", hypervisors=2).start()
    assert _created(here, "first")["host"] in {"hv-1", "hv-2"}
    _stopped_cleanly(here)
    assert here.pids() == []


def test_ready_answer_has_no_reasons_left(running: Installation) -> None:
    def ready() -> bytes:
        """What a 200 says. The other web process may still answer with what it found a second ago."""
        with suppress(HTTPError), urllib.request.urlopen(f"http://127.0.0.1:{running.port}/readyz") as answer:
            return bytes(answer.read())
        return b""

    assert b'"reasons": []' in eventually(ready, "both web processes are ready")


@pytest.mark.long
@pytest.mark.libvirt
def test_simulated_hosts_bring_their_instances_back_after_a_restart(
    processes: Processes, tmp_path: Path, migrated: MigratedDatabases
) -> None:
    here = Installation(processes, tmp_path / "state", driver="test", hypervisors=1, migrated=migrated).start()
    before = _created(here, "lasting")
    _stopped_cleanly(here)
    here.start()
    here.wait_for(lambda: _state_of(here, before["id"]) == ("ACTIVE", "running"))
    assert here.call(f"instances/{before['id']}/")["host"] == before["host"]


@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.long
def test_postgres_and_redis_come_by_environment(
    processes: Processes, tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    env = {"DATABASE_URL": postgres_url, "REDIS_URL": redis_url}
    here = Installation(processes, tmp_path / "state", driver="fake", hypervisors=1, env=env).start()
    _created(here, "first")
    assert not list((tmp_path / "state").glob("*.sqlite3"))
    _stopped_cleanly(here)


@pytest.mark.parametrize("part", ["manage.py web", "conductor", "computeagent"])
def test_killed_part_is_started_again_and_work_goes_on(running: Installation, part: str) -> None:
    killed = running.kill_nine(part)
    running.wait_for(lambda: bool(set(running.pids(part)) - set(killed)))
    _created(running, f"after {part}")


@pytest.mark.long
def test_killing_up_itself_leaves_no_process(processes: Processes, tmp_path: Path, migrated: MigratedDatabases) -> None:
    here = Installation(processes, tmp_path / "state", driver="fake", hypervisors=1, migrated=migrated).start()
    assert here.up is not None
    os.kill(here.up.pid, signal.SIGKILL)
    here.up.wait()
    eventually(lambda: not here.pids(), "all parts died with it")


def test_second_up_on_a_state_in_use_names_the_first(running: Installation) -> None:
    assert running.up is not None
    second = running.manage("up", "--state", str(running.state), "--port", "1")
    assert second.returncode == 1
    assert f"already runs on {running.state} (process {running.up.pid})" in second.stderr


def test_used_port_is_refused_before_anything_starts(running: Installation, tmp_path: Path) -> None:
    other = running.manage("up", "--state", str(tmp_path / "other"), "--port", str(running.port), "--driver", "fake")
    assert other.returncode == 1
    assert f"port {running.port} cannot be used" in other.stderr
    # The file is there, closed to others, and nothing was written to it.
    assert [path.stat().st_size for path in (tmp_path / "other").glob("*.sqlite3*")] == [0]


@pytest.mark.qemu
@pytest.mark.libvirt
@pytest.mark.long
def test_everything_is_killed_and_the_guest_runs_on_until_down_which_the_next_up_undoes(
    processes: Processes, tmp_path: Path, qemu_answers: Path, migrated: MigratedDatabases
) -> None:
    state = tmp_path / "state"
    here = Installation(
        processes, state, driver="qemu", hypervisors=1, qemu_answers=qemu_answers, migrated=migrated
    ).start()
    try:
        instance_id = _created(here, "first")["id"]
        guests, daemons = _guests(here.state), _daemons(here.state)
        assert (len(guests), len(daemons)) == (1, 1)
        here.kill_nine("manage.py up")
        children = [pid for part in ("manage.py web", "conductor", "computeagent") for pid in here.pids(part)]
        for pid in (*children, *daemons):
            with suppress(ProcessLookupError):  # some die with who started them
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not _daemons(here.state), "the daemon is dead")
        assert _guests(here.state) == guests

        here.start()
        here.wait_for(lambda: _state_of(here, instance_id) == ("ACTIVE", "running"))
        assert _guests(here.state) == guests

        done = here.manage("down", "--grace", "0")
        assert (done.returncode, _guests(here.state), _daemons(here.state)) == (0, set(), set()), done.stderr
        assert "hypervisor 1: 1 guests stopped, its libvirtd ended" in done.stdout
        assert here.up is not None
        assert here.up.wait(PATIENCE_S) == 0
        here.start()
        here.wait_for(lambda: _state_of(here, instance_id) == ("ACTIVE", "running") and len(_guests(here.state)) == 1)
    finally:
        here.manage("down", "--grace", "0")


@pytest.mark.qemu
@pytest.mark.libvirt
@pytest.mark.long
def test_real_guest_says_hello_survives_a_restart_and_leaves_nothing(
    processes: Processes, tmp_path: Path, qemu_answers: Path
) -> None:
    here = Installation(processes, tmp_path / "state", driver="qemu", hypervisors=2, qemu_answers=qemu_answers).start()
    try:
        instance_id = _created(here, "first")["id"]
        here.wait_for(lambda: "Hello from first" in here.call(f"instances/{instance_id}/console-log/")["output"])
        guests = _guests(here.state)
        assert len(guests) == 1
        _stopped_cleanly(here)
        assert _guests(here.state) == guests
        here.start()
        here.wait_for(lambda: _state_of(here, instance_id) == ("ACTIVE", "running"))
        here.call(f"instances/{instance_id}/", method="DELETE")
        here.wait_for(lambda: here.instances() == [] and not _guests(here.state))
        eventually(lambda: not _left_of(instance_id, here.state), "no file of the guest is left")
    finally:
        here.manage("down", "--grace", "0")


def _created(here: Installation, name: str) -> dict[str, Any]:
    """A new instance that became ACTIVE."""
    instance_id = here.create(name)["id"]
    here.wait_for(lambda: _state_of(here, instance_id)[0] in {"ACTIVE", "ERROR"})
    instance: dict[str, Any] = here.call(f"instances/{instance_id}/")
    assert instance["status"] == "ACTIVE", instance
    return instance


def _state_of(here: Installation, instance_id: str) -> tuple[str, str]:
    instance = here.call(f"instances/{instance_id}/")
    return str(instance.get("status")), str(instance.get("power_state"))


def _stopped_cleanly(here: Installation) -> None:
    """Its end is a good one: by itself, with all its parts."""
    assert here.up is not None
    assert here.stop() == 0, here.describe()
    assert "did not end in time" not in here.processes.log(here.up)


def _left_of(instance_id: str, state: Path) -> list[Path]:
    return [path for path in state.rglob("*") if instance_id in path.name and path.suffix != ".lock"]


def _daemons(state: Path) -> set[int]:
    """Private libvirt daemons of the installation."""
    pids = (lock_holder(root / "run" / "libvirtd.pid") for root in private_roots(state))
    return {pid for pid in pids if pid is not None}


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
