"""Network namespaces of the hypervisors of one machine, on real ones, as root and as an ordinary user."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from computeagent.networks.places.probe import places_lack, way_out_lack
from tests.fixtures.ordinary_user import as_ordinary_user, owned_by_ordinary_user, python_of_ordinary_user
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import ROOT

pytestmark = pytest.mark.processes

PROGRAM = """
import json, os, signal, sys
from pathlib import Path
from computeagent.networks.places.machine import MachineNetworks
from computeagent.networks.places.probe import places_lack
verb, directory, *hosts = sys.argv[1:]
print("begun", flush=True)
machine = MachineNetworks(Path(directory))
answer = {}
if verb == "lack":
    answer["lack"] = places_lack()
elif verb == "remove":
    answer["removed"] = machine.remove()
elif verb == "kill":
    machine.place(hosts[0])
    for _ in range(20):
        holder = int((machine.directory / "holder").readlink().name)
        os.sched_setscheduler(holder, os.SCHED_IDLE, os.sched_param(0))
        os.kill(holder, signal.SIGKILL)
        machine.place(hosts[0])
else:
    places = {host: machine.place(host) for host in hosts}
    machine.way_out_ensure()
    answer = {
        "places": {host: [list(place.prefix), place.underlay_address] for host, place in places.items()},
        "gateway": machine.choices().public_cidr.replace(".0/24", ".1"),
        "middle": list(machine.ground.prefix(machine.names.middle)),
        "files": {h: machine.ground.namespace_file(name).stat().st_ino for h, name in machine.namespaces().items()},
        "names": [machine.names.middle, machine.names.machine_link, machine.names.table],
    }
print(json.dumps(answer))
"""


class Machine:
    """A user of this machine, who may have networks of his own in `directory`."""

    def __init__(self, directory: Path, *, is_root: bool) -> None:
        self.directory = directory
        self._is_root = is_root

    def begin(self, verb: str, *hosts: str) -> subprocess.Popen[str]:
        python = sys.executable if self._is_root else python_of_ordinary_user()
        command = [python, "-c", PROGRAM, verb, str(self.directory), *hosts]
        return subprocess.Popen(
            self.command(command), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def command(self, command: list[str]) -> list[str]:
        return command if self._is_root else as_ordinary_user(command)

    def ask(self, verb: str, *hosts: str) -> dict:
        process = self.begin(verb, *hosts)
        output, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors
        return json.loads(output.splitlines()[-1])

    def inside(self, prefix: list[str], *command: str) -> "subprocess.CompletedProcess[str]":
        """As the agent runs it, who is the same user."""
        plain = [*prefix, *command]
        return subprocess.run(self.command(plain), capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.fixture(params=["root", "user"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    is_root = request.param == "root"
    if is_root and os.geteuid() != 0:
        pytest.skip("not root")
    if is_root and (lack := places_lack()):
        pytest.skip(f"missing: {'; '.join(lack)}")
    with tempfile.TemporaryDirectory(prefix="kn-places-") as name:
        directory = Path(name)
        here = Machine(directory if is_root else owned_by_ordinary_user(directory), is_root=is_root)
        if not is_root and (lack := here.ask("lack")["lack"] or way_out_lack()):
            pytest.skip(f"missing: {lack}")
        yield here
        here.ask("remove")


def reaches(machine: Machine, prefix: list[str], address: str) -> bool:
    return machine.inside(prefix, "busybox", "ping", "-c1", "-W1", address).returncode == 0


def test_hypervisors_reach_each_other_and_the_gateway_and_nothing_of_the_machine(machine: Machine) -> None:
    made = machine.ask("place", "hv-1", "hv-2")
    (one, _), (_, other_address) = made["places"]["hv-1"], made["places"]["hv-2"]

    assert reaches(machine, one, other_address)
    machine_address = socket.gethostbyname(socket.gethostname())
    with socket.create_server(("", 0)) as listener:
        port = listener.getsockname()[1]
        accepted: list[object] = []
        threading.Thread(target=lambda: accepted.append(listener.accept()), daemon=True).start()
        # Like a router there: with an address in the outside network.
        outer = made["gateway"].removesuffix(".1") + ".99"
        for words in (f"address add {outer}/24 dev br-public", f"route add default via {made['gateway']}"):
            assert machine.inside(one, "ip", *words.split()).returncode == 0
        assert reaches(machine, one, made["gateway"])
        for address in {made["gateway"], machine_address, *_own_addresses()}:
            tried = machine.inside(one, "busybox", "nc", "-w1", address, str(port))
            assert tried.returncode != 0, address
        assert accepted == []
        assert machine.inside(["true"]).returncode == 0
        socket.create_connection(("127.0.0.1", port)).close()


def _own_addresses() -> list[str]:
    shown = subprocess.run(["ip", "-json", "-4", "address"], capture_output=True, text=True, check=True).stdout
    return [each["local"] for link in json.loads(shown) for each in link["addr_info"] if link["ifname"] != "lo"]


def test_asked_twice_nothing_is_made_anew_and_damage_is_put_right(machine: Machine) -> None:
    first = machine.ask("place", "hv-1", "hv-2")
    assert machine.ask("place", "hv-1", "hv-2") == first
    one, address = first["places"]["hv-1"][0], first["places"]["hv-2"][1]

    for where, damage in (
        (first["middle"], "link delete u1"),
        (first["middle"], "link delete public"),
        (one, "link delete br-public"),
        (one, "link set br-public down"),
        (first["middle"], "link delete underlay"),
    ):
        assert machine.inside(where, "ip", *damage.split()).returncode == 0
        assert machine.ask("place", "hv-1", "hv-2") == first
        assert reaches(machine, one, address), damage


@pytest.mark.long
def test_killed_anywhere_the_next_try_makes_it_whole(machine: Machine) -> None:
    for delay_ms in range(0, 90, 6):
        process = machine.begin("place", "hv-1", "hv-2")
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay_ms / 1000)
        process.kill()
        process.wait()
    made = machine.ask("place", "hv-1", "hv-2")
    assert reaches(machine, made["places"]["hv-1"][0], made["places"]["hv-2"][1])


def test_removed_with_what_a_hypervisor_made_and_nothing_is_left(machine: Machine) -> None:
    made = machine.ask("place", "hv-1")
    prefix, (middle, link, table) = made["places"]["hv-1"][0], made["names"]
    assert machine.inside(prefix, "ip", "netns", "add", f"{middle}-1-router").returncode == 0
    left = subprocess.Popen(machine.command([*prefix, "sleep", "600"]))

    assert machine.ask("remove") == {"removed": True}

    assert left.wait(timeout=PATIENCE_S) != 0
    assert machine.ask("remove") == {"removed": False}
    assert not [name for name in os.listdir("/run/netns") if name.startswith(middle)]
    assert link not in os.listdir("/sys/class/net")
    if os.geteuid() == 0:
        assert table not in subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout
    assert not [words for words in _commands() if str(machine.directory) in words]


def _commands() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_ordinary_users_holder_that_was_killed_and_still_dies_is_replaced(machine: Machine) -> None:
    if machine.inside([], "id", "-u").stdout.strip() == "0":
        pytest.skip("root's namespaces need no holder")
    assert machine.ask("kill", "hv-1") == {}


def test_ordinary_users_namespaces_outlive_their_holder_with_whatever_is_in_them(machine: Machine) -> None:
    made = machine.ask("place", "hv-1")
    if machine.inside([], "id", "-u").stdout.strip() == "0":
        pytest.skip("root's namespaces need no holder")
    link = machine.directory / "holder"
    guest = subprocess.Popen(machine.command([*made["places"]["hv-1"][0], "unshare", "-U", "sleep", "600"]))
    time.sleep(0.3)
    holder = int(link.readlink().name)
    os.kill(holder, signal.SIGKILL)

    again = machine.ask("place", "hv-1")

    assert link.readlink().name != str(holder)
    assert again == made
    guest.kill()
    guest.wait()


def test_ordinary_users_namespaces_are_made_anew_when_nobody_kept_them(machine: Machine) -> None:
    made = machine.ask("place", "hv-1", "hv-2")
    if machine.inside([], "id", "-u").stdout.strip() == "0":
        pytest.skip("root's namespaces need no holder")
    os.kill(int((machine.directory / "holder").readlink().name), signal.SIGKILL)

    again = machine.ask("place", "hv-1", "hv-2")

    assert again["places"] == made["places"]
    assert reaches(machine, again["places"]["hv-1"][0], again["places"]["hv-2"][1])
