"""A private libvirtd in a network namespace of its own, and its guests in it, as root and as an ordinary user."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from computeagent.networks.places.probe import places_lack
from tests.fixtures.hypervisors import answers_known
from tests.fixtures.ordinary_user import (
    as_ordinary_user,
    owned_by_ordinary_user,
    python_of_ordinary_user,
)
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import ROOT

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

PROGRAM = """
# Another user may not read what is imported late.
import encodings.utf_16_be, encodings.idna, json, os, signal, sys, time
from pathlib import Path
from tests.e2e.drivers.conftest import Hypervisor
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.private.stop import private_daemon_stop
from computeagent.networks.places.place import OwnNamespace
from controlplane.kernel.file_locks import lock_holder

state, user, sys.executable = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
place = OwnNamespace(state / "networks", "hv-1")

drivers = []

def opened(where):
    driver = LibvirtDriver(f"qemu:///private?root={state / 'hv'}", state, "node", place=where)
    drivers.append(driver)
    driver.open()
    return Hypervisor("qemu", driver, state)

def daemon():
    return lock_holder(state / "hv" / "run" / "libvirtd.pid")

def namespace(pid):
    return os.stat(f"/proc/{pid}/ns/net").st_ino

def qemu_of(guest):
    name = f"guest=i-{guest.uuid.replace('-', '')[:12]},".encode()
    for each in os.listdir("/proc"):
        try:
            if each.isdecimal() and name in Path(f"/proc/{each}/cmdline").read_bytes():
                return int(each)
        except OSError:
            pass

def capabilities(pid):
    return next(line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "CapEff" in line)

answer = {"mine": namespace(os.getpid())}
try:
    outside = opened(None)
    old = outside.build(outside.guest())
    answer["before"], first = namespace(daemon()), daemon()
    outside.driver.close()

    here = opened(place)
    wanted = place._machine.ground.namespace_file(place._machine.names.hypervisor(1)).stat().st_ino
    guest = here.build(here.guest())
    answer |= {"wanted": wanted, "daemon": namespace(daemon()), "guest": namespace(qemu_of(guest))}
    answer |= {"old_guest_runs": qemu_of(old) is not None, "is_new": daemon() != first}
    answer["seen"] = sorted(each.uuid for each in here.driver.guests()) == sorted([old.uuid, guest.uuid])
    answer["capabilities"] = capabilities(qemu_of(guest))
    answer["interfaces"] = sorted(os.listdir(f"/proc/{daemon()}/root/sys/class/net")) if not user else []
    answer["cgroups"] = os.path.ismount(f"/proc/{daemon()}/root/sys/fs/cgroup") == os.path.ismount("/sys/fs/cgroup")

    os.kill(daemon(), signal.SIGKILL)
    if user:
        os.kill(int((state / "networks" / "holder").readlink().name), signal.SIGKILL)
    while daemon():
        time.sleep(0.05)
    answer["found"] = len(here.driver.guests())
    answer |= {"again": namespace(daemon()), "same_guest": namespace(qemu_of(guest))}
finally:
    for each in drivers:
        each.close()
    private_daemon_stop(state / "hv", cache=state / "libvirt", grace_s=0, keep_guests=False)
    answer["removed"] = place._machine.remove()
print(json.dumps(answer))
"""


@pytest.fixture
def state(qemu_answers: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:
        state = Path(directory)
        state.chmod(0o711)
        answers_known(qemu_answers, state)
        yield state


def ran(state: Path, *, is_root: bool) -> dict:
    if is_root:
        user, python, prefix = 0, sys.executable, []
    else:
        user, python = 65534, python_of_ordinary_user()
        subprocess.run(["chown", "-R", f"{user}:{user}", str(owned_by_ordinary_user(state))], check=True)
        # Its /dev/net/tun; the user himself comes later: he may not be able to read what is imported.
        prefix = [word if word != str(user) else "0" for word in as_ordinary_user([])]
    program = [*prefix, sys.executable, "-c", PROGRAM, str(state), str(user), python]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("who", ["root", "user"])
def test_libvirtd_and_guests_are_in_the_place_also_after_both_were_killed(state: Path, who: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be both")
    if lack := places_lack():
        pytest.skip(f"missing: {lack}")

    answer = ran(state, is_root=who == "root")

    assert answer["before"] == answer["mine"] != answer["wanted"]
    assert answer["daemon"] == answer["guest"] == answer["again"] == answer["same_guest"] == answer["wanted"]
    assert (answer["is_new"], answer["old_guest_runs"], answer["seen"], answer["found"]) == (True, True, True, 2)
    assert int(answer["capabilities"], 16) == 0
    assert answer["cgroups"]
    if who == "root":
        assert answer["interfaces"] == ["br-public", "lo", "underlay", "uplink"]
    assert answer["removed"]
