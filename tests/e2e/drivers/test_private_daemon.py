"""A libvirtd of a hypervisor's own: it outlives its agent, guests outlive it, and what goes wrong is said."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.private.daemon import PrivateDaemon
from computeagent.drivers.libvirt.private.probe import Answer, daemon_answers
from computeagent.drivers.libvirt.private.stop import Stopped, private_daemon_stop
from computeagent.drivers.libvirt.qemu_account import QEMU_USER
from computeagent.protocol.power import PowerState
from controlplane.kernel.file_locks import lock_holder
from tests.e2e.drivers.conftest import IMAGE, WORDS, Hypervisor
from tests.fixtures.hypervisors import answers_known, daemons_end
from tests.fixtures.patience import eventually
from tests.fixtures.processes import ROOT

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
NOBODY = 65534

SPAWN_AND_DIE = """
import encodings.utf_16_be, os, signal, sys  # another user may not read what is imported late
from pathlib import Path
from tests.e2e.drivers.conftest import Hypervisor
from computeagent.drivers.libvirt.driver import LibvirtDriver
state = Path(sys.argv[1])
if len(sys.argv) > 2:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
driver = LibvirtDriver(f"qemu:///private?root={state / 'hv'}", state, "node")
driver.open()
report = driver.host_report()
print(*[trait for trait in report.traits if trait.startswith("CUSTOM_")])
hypervisor = Hypervisor("qemu", driver, state)
print(hypervisor.build(hypervisor.guest()).uuid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def state(qemu_answers: Path) -> Iterator[Path]:
    """A directory that QEMU's user may pass; what runs in it is ended."""
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:
        state = Path(directory)
        state.chmod(0o711)
        answers_known(qemu_answers, state)
        yield state
        daemons_end(state)


def opened(state: Path) -> Hypervisor:
    driver = LibvirtDriver(f"qemu:///private?root={state / 'hv'}", state, "node-qemu")
    driver.open()
    return Hypervisor("qemu", driver, state)


def daemon_pid(state: Path) -> int:
    pid = lock_holder(state / "hv" / "run" / "libvirtd.pid")
    assert pid is not None
    return pid


def guest_process(guest_uuid: str) -> int:
    name = f"guest=i-{guest_uuid.replace('-', '')[:12]},".encode()
    (pid,) = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if name in _read(path)]
    return pid


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_agent_and_daemon_are_killed_and_the_guest_runs_on(state: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPAWN_AND_DIE, str(state)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    guest_uuid = done.stdout.split()[-1]
    qemu, first = guest_process(guest_uuid), daemon_pid(state)
    os.kill(first, signal.SIGKILL)

    found = opened(state)

    assert daemon_pid(state) != first
    assert [(guest.uuid, guest.power_state) for guest in found.driver.guests()] == [(guest_uuid, PowerState.RUNNING)]
    assert guest_process(guest_uuid) == qemu
    found.driver.destroy(guest_uuid)
    found.driver.close()


def test_daemon_that_dies_under_an_agent_is_started_again_by_it(state: Path) -> None:
    here = opened(state)
    guest = here.build(here.guest())
    first = daemon_pid(state)

    os.kill(first, signal.SIGKILL)

    eventually(lambda: lock_holder(state / "hv" / "run" / "libvirtd.pid") is None)
    assert [found.power_state for found in here.driver.guests()] == [PowerState.RUNNING]
    assert daemon_pid(state) != first
    here.driver.destroy(guest.uuid)
    here.driver.close()


def test_daemon_goes_on_when_its_agent_lets_go_and_the_next_one_finds_it(state: Path) -> None:
    opened(state).driver.close()
    first = daemon_pid(state)
    opened(state).driver.close()
    assert daemon_pid(state) == first


def test_two_agents_never_share_a_daemon(state: Path) -> None:
    here = opened(state)

    with pytest.raises(DriverError, match=rf"another agent \(process {os.getpid()}\) uses the libvirtd of"):
        opened(state)

    here.driver.close()
    opened(state).driver.close()


def test_stale_pid_file_and_socket_are_no_daemon(state: Path) -> None:
    run = state / "hv" / "run"
    run.mkdir(parents=True)
    (run / "libvirtd.pid").write_text("1")
    (run / "libvirt-sock").write_text("")

    opened(state).driver.close()

    assert daemon_pid(state) != 1


def test_daemon_that_cannot_start_says_why(state: Path) -> None:
    daemon = PrivateDaemon(state / "hv", cache=state / "libvirt")
    daemon.prepare()
    daemon.layout.daemon_conf.write_text('auth_unix_rw = "nonsense"\n')

    with pytest.raises(DriverError, match=r"of .*/hv (did not start|ends as soon as it starts)\b.*: .*auth"):
        daemon.ensure_running()
    daemon.release()


def test_full_disk_is_told_and_leaves_nothing_held(state: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    small = state / "hv"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(small)], check=True)
    try:
        (small / "filler").write_bytes(b"x" * 4096)
        daemon = PrivateDaemon(small, cache=state / "libvirt")
        with pytest.raises(DriverError, match=r"cannot prepare the hypervisor's root .*No space left"):
            daemon.prepare()
        daemon.release()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_daemon_that_hangs_is_replaced_and_its_guests_go_on(state: Path) -> None:
    here = opened(state)
    guest = here.build(here.guest())
    here.driver.close()
    first = daemon_pid(state)
    os.kill(first, signal.SIGSTOP)
    daemon = PrivateDaemon(state / "hv", cache=state / "libvirt", guest_files=(state,), silent_s=2.0)
    daemon.prepare()
    assert daemon_answers(daemon.layout.socket, timeout_s=0.5) is Answer.SILENT

    daemon.ensure_running()

    assert daemon_pid(state) != first
    daemon.release()
    again = opened(state)
    assert [found.power_state for found in again.driver.guests()] == [PowerState.RUNNING]
    again.driver.destroy(guest.uuid)
    again.driver.close()


def test_end_on_request_stops_guests_and_daemon_and_twice_is_nothing(state: Path) -> None:
    here = opened(state)
    guest = here.build(here.guest())
    qemu = guest_process(guest.uuid)
    here.driver.close()

    kept = private_daemon_stop(state / "hv", cache=state / "libvirt", grace_s=0, keep_guests=True)
    assert (kept, _read(Path(f"/proc/{qemu}/cmdline")) != b"") == (Stopped(guests_left=1, had_daemon=True), True)
    ended = private_daemon_stop(state / "hv", cache=state / "libvirt", grace_s=0, keep_guests=False)
    assert ended == Stopped(guests=1, had_daemon=True)
    eventually(lambda: _read(Path(f"/proc/{qemu}/cmdline")) == b"")
    assert private_daemon_stop(state / "hv", cache=state / "libvirt", grace_s=0, keep_guests=False) == Stopped()


def test_end_on_request_is_refused_while_an_agent_uses_it(state: Path) -> None:
    here = opened(state)
    with pytest.raises(DriverError, match="another agent"):
        private_daemon_stop(state / "hv", cache=state / "libvirt", grace_s=0, keep_guests=False)
    here.driver.close()


def test_files_of_a_running_guest_are_its_qemus_alone_below_a_directory_closed_to_it(qemu_answers: Path) -> None:
    """The state directory of `manage.py up` is closed to everybody, QEMU's user among them."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's QEMU has no user of its own")
    with tempfile.TemporaryDirectory(prefix="kn-") as closed:
        assert Path(closed).stat().st_mode & 0o077 == 0
        state = Path(closed) / "below"
        state.mkdir(mode=0o711)
        answers_known(qemu_answers, state)
        here = opened(state)
        guest = here.build(here.guest(ephemeral_gib=1, swap_mib=1))

        eventually(lambda: WORDS.encode() in here.driver.console_log(guest.uuid, max_bytes=1000))
        files = sorted((state / "i" / guest.uuid).iterdir())
        assert [path.name for path in files] == ["config.iso", "console.log", "disk", "ephemeral", "swap"]
        console = files.pop(1)  # libvirtd's own, which hands QEMU the open file
        assert (console.owner(), oct(console.stat().st_mode & 0o7777)) == ("root", "0o600")
        assert {(path.owner(), path.group(), oct(path.stat().st_mode & 0o7777)) for path in files} == {
            (QEMU_USER, QEMU_USER, "0o600")
        }
        assert Path(f"/proc/{guest_process(guest.uuid)}").owner() == QEMU_USER
        facts = here.driver.facts(guest.uuid)
        assert facts is not None
        assert Path(facts.vnc_socket).is_socket()
        here.driver.stop(guest.uuid, grace_s=0)
        assert {path.stat().st_mode & 0o077 for path in files} == {0}
        here.driver.destroy(guest.uuid)
        here.driver.close()
        daemons_end(state)


def test_ordinary_user_has_real_guests(state: Path, qemu_answers: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    home = state / "home"
    home.mkdir(mode=0o700)
    answers_known(qemu_answers, home)
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(home)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", SPAWN_AND_DIE, str(home), str(NOBODY)], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    traits, guest_uuid = done.stdout.splitlines()[0], done.stdout.split()[-1]
    assert traits == "CUSTOM_LIVE_MIGRATION_TARGET"
    qemu = guest_process(guest_uuid)
    assert Path(f"/proc/{qemu}").stat().st_uid == NOBODY
    eventually(lambda: WORDS.encode() in (home / "i" / guest_uuid / "console.log").read_bytes())
    for pid in (qemu, daemon_pid(home)):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: _read(Path(f"/proc/{qemu}/cmdline")) == b"")


def test_image_is_read_by_qemu_and_not_by_others(state: Path) -> None:
    here = opened(state)
    guest = here.build(here.guest())
    (base,) = [path for path in (state / "base").iterdir() if path.is_file() and path.stat().st_size == len(IMAGE)]
    assert base.stat().st_mode & 0o027 == 0
    here.driver.destroy(guest.uuid)
    here.driver.close()
