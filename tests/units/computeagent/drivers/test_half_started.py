"""Domains whose start was cut off: forgotten before a private hypervisor is opened, waited for elsewhere."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.domains import is_running, power_state
from computeagent.drivers.libvirt.half_started import half_started_forget, settle
from computeagent.protocol.power import PowerState
from tests.fixtures.patience import PATIENCE_S

pytestmark = pytest.mark.libvirt
HALF = "<domstatus state='paused' reason='starting up' pid='0'><domain/></domstatus>"
WHOLE = "<domstatus state='running' reason='booted' pid='7'><domain/></domstatus>"
STARTING_UP, RUNNING, OFF = [3, 11], [1, 1], [5, 0]


class Domain:
    """Answers `state` with one of these after the other, the last for ever."""

    def __init__(self, *states: list[int]) -> None:
        self.states = list(states)

    def state(self) -> list[int]:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return self.states[0] != OFF

    def name(self) -> str:
        return "i-1"


def test_note_of_a_half_start_is_removed_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "i-half.xml").write_text(HALF)
    (tmp_path / "i-whole.xml").write_text(WHOLE)
    (tmp_path / "i-torn.xml").write_text("<domstatus")
    assert half_started_forget(tmp_path) == ["i-half"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["i-torn.xml", "i-whole.xml"]


def test_directory_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert half_started_forget(tmp_path / "run") == []


@pytest.mark.parametrize(("name", "is_killed"), [("i-half", True), ("i-other", False)])
def test_qemu_that_came_up_is_killed_only_if_it_is_of_this_domain(tmp_path: Path, name: str, is_killed: bool) -> None:
    (tmp_path / "i-half.xml").write_text(HALF)
    sleeper = "import time; print(1, flush=True); time.sleep(30)"
    command = [sys.executable, "-c", sleeper, f"guest={name},debug-threads=on"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (tmp_path / "i-half.pid").write_text(str(process.pid))
        half_started_forget(tmp_path)
        ended = process.poll() if not is_killed else process.wait(PATIENCE_S)
        process.kill()
    assert (ended is not None) is is_killed
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_forgotten_while_another_process_has_the_hypervisor_open(tmp_path: Path) -> None:
    (tmp_path / "i-half.xml").write_text(HALF)
    holder = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX);"
        " print(1, flush=True); time.sleep(30)"
    )
    lock = tmp_path / "driver.pid"
    with subprocess.Popen([sys.executable, "-c", holder, str(lock)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert half_started_forget(tmp_path) == []
        process.kill()
    with lock.open("r+b") as free:
        fcntl.lockf(free, fcntl.LOCK_EX)
    assert half_started_forget(tmp_path) == ["i-half"]


def test_half_started_guest_has_no_state_yet() -> None:
    assert power_state(Domain(STARTING_UP)) is PowerState.NOSTATE


def test_half_started_guest_is_not_running_once_it_turned_out_to_be_off() -> None:
    assert not is_running(Domain(STARTING_UP, OFF))


def test_guest_that_starts_for_too_long_is_the_hosts_fault() -> None:
    with pytest.raises(DriverError, match="is starting i-1 for more than 0 s"):
        settle(Domain(STARTING_UP), limit_s=0.0)


def test_running_guest_is_not_waited_for() -> None:
    assert is_running(Domain(RUNNING))
