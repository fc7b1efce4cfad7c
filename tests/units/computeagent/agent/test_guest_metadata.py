"""The metadata service of a host, with a real network namespace for each network."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.agent.guest_metadata import MetadataService
from computeagent.protocol.metadata import METADATA_ADDRESS, GuestDocument
from controlplane.kernel.errors import Unavailable
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.agent.conftest import World
from tests.units.computeagent.agent.documents_asked import DocumentsAsked
from tests.units.computeagent.metadata.documents import BLUE, HOST, RED, guest_of

ONE, TWO = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "0b0c0d0e-7dec-41d0-a765-00a0c91e6bf6"
LATEST = "/openstack/latest/meta_data.json"
ASK = """
import http.client, sys
method, path, source, body = sys.argv[1:]
client = http.client.HTTPConnection("169.254.169.254", timeout=30, source_address=(source, 0))
client.request(method, path, body or None)
answer = client.getresponse()
print(answer.status)
print(answer.read().decode())
"""

pytestmark = [pytest.mark.processes, pytest.mark.long]


class Namespaces:
    """A network namespace for each network, kept by a process that sleeps in it. Guests are addresses in it."""

    def __init__(self) -> None:
        self.keepers: dict[str, subprocess.Popen[bytes]] = {}

    def make(self, network_id: str, *addresses: str) -> None:
        keeper = subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "sleep", "300"])
        self.keepers[network_id] = keeper
        end = time.monotonic() + 60
        while Path(f"/proc/{keeper.pid}/comm").read_text().strip() != "sleep" and time.monotonic() < end:
            time.sleep(0.01)
        self.run(network_id, "ip", "link", "set", "lo", "up")
        for address in (METADATA_ADDRESS, *addresses):
            self.run(network_id, "ip", "address", "add", f"{address}/32", "dev", "lo")

    def prefix(self, network_id: str) -> tuple[str, ...] | None:
        keeper = self.keepers.get(network_id)
        return (
            None
            if keeper is None
            else ("nsenter", "--target", str(keeper.pid), "--user", "--net", "--preserve-credentials")
        )

    def run(self, network_id: str, *command: str) -> str:
        prefix = self.prefix(network_id) or ()
        done = subprocess.run([*prefix, *command], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(
        self, network_id: str, source: str, path: str = LATEST, *, method: str = "GET", body: str = ""
    ) -> tuple[int, str]:
        python = os.path.realpath("/proc/self/exe")
        status, _, content = self.run(network_id, python, "-c", ASK, method, path, source, body).partition("\n")
        return int(status), content

    def remove(self, network_id: str) -> None:
        keeper = self.keepers.pop(network_id)
        keeper.send_signal(signal.SIGKILL)
        keeper.wait()


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    found = Namespaces()
    found.make(RED, "10.0.0.5", "10.0.0.6")
    found.make(BLUE, "10.0.0.5")
    yield found
    for network_id in list(found.keepers):
        found.remove(network_id)


@pytest.fixture
def conductor() -> DocumentsAsked:
    made = DocumentsAsked()
    made.documents = {
        ONE: GuestDocument(HOST, guest_of(ONE, "10.0.0.5")),
        TWO: GuestDocument(HOST, guest_of(TWO, "10.0.0.5", network=BLUE)),
    }
    return made


def started(conductor: DocumentsAsked, namespaces: Namespaces, tmp_path: Path) -> MetadataService:
    made = MetadataService(HOST, conductor, tmp_path, namespaces.prefix)  # type: ignore[arg-type]
    made.open()
    return made


def test_guests_with_equal_addresses_in_two_networks_read_their_own(
    conductor: DocumentsAsked, namespaces: Namespaces, tmp_path: Path
) -> None:
    service = started(conductor, namespaces, tmp_path)
    service.tick("1")

    for network, uuid in ((RED, ONE), (BLUE, TWO)):
        status, content = namespaces.ask(network, "10.0.0.5")
        assert (status, json.loads(content)["uuid"]) == (200, uuid)
    assert namespaces.ask(RED, "10.0.0.6")[0] == 404
    service.close()


def test_service_goes_on_after_a_restart_without_the_control_plane(
    conductor: DocumentsAsked, namespaces: Namespaces, tmp_path: Path
) -> None:
    first = started(conductor, namespaces, tmp_path)
    first.tick("1")
    first.server.leave([RED, BLUE])  # as its sockets go when it is killed
    first.close()
    conductor.documents_away = True

    second = started(conductor, namespaces, tmp_path)
    second.tick(None)

    assert json.loads(namespaces.ask(RED, "10.0.0.5")[1])["uuid"] == ONE
    with pytest.raises(Unavailable):
        second.tick("1")
    assert namespaces.ask(RED, "10.0.0.5")[0] == 200
    second.close()


def test_network_that_comes_late_or_anew_is_listened_in(
    conductor: DocumentsAsked, namespaces: Namespaces, tmp_path: Path
) -> None:
    namespaces.remove(BLUE)
    service = started(conductor, namespaces, tmp_path)
    service.tick("1")
    assert set(service.server.namespaces()) == {RED}

    namespaces.make(BLUE, "10.0.0.5")
    namespaces.remove(RED)
    namespaces.make(RED, "10.0.0.5")
    service.tick("1")

    assert namespaces.ask(RED, "10.0.0.5")[0] == namespaces.ask(BLUE, "10.0.0.5")[0] == 200
    service.close()


def test_change_and_deletion_reach_the_guest_with_the_next_tick(
    conductor: DocumentsAsked, namespaces: Namespaces, tmp_path: Path
) -> None:
    service = started(conductor, namespaces, tmp_path)
    service.tick("1")
    conductor.documents[ONE] = GuestDocument(HOST, guest_of(ONE, "10.0.0.5", metadata={"role": "web"}))
    del conductor.documents[TWO]

    service.tick("1")

    assert json.loads(namespaces.ask(RED, "10.0.0.5")[1])["meta"] == {"role": "web"}
    assert set(service.server.namespaces()) == {RED}
    service.close()


def test_what_a_guest_told_reaches_the_control_plane_once(
    conductor: DocumentsAsked, namespaces: Namespaces, tmp_path: Path
) -> None:
    service = started(conductor, namespaces, tmp_path)
    service.tick("1")
    path = "/openstack/latest/password"
    assert namespaces.ask(RED, "10.0.0.5", path, method="POST", body="bm8=")[0] == 200
    assert service.wake.is_set()
    conductor.documents_away = True
    with pytest.raises(Unavailable):
        service.tick("1")
    assert service.store.passwords() == {ONE: "bm8="}
    conductor.documents_away = False

    service.tick("1")

    assert conductor.guest_passwords == {ONE: "bm8="}
    assert service.store.passwords() == {}
    assert namespaces.ask(RED, "10.0.0.5", path)[1].strip() == "bm8="
    assert namespaces.ask(RED, "10.0.0.5", path, method="POST", body="b3RoZXI=")[0] == 409
    service.close()


def test_more_documents_than_fit_an_answer_are_fetched_at_once(conductor: DocumentsAsked, tmp_path: Path) -> None:
    for number in range(7):
        uuid = f"00000000-0000-0000-0000-00000000000{number}"
        conductor.documents[uuid] = GuestDocument(HOST, guest_of(uuid, f"10.0.1.{number}"))
    service = started(conductor, Namespaces(), tmp_path)

    service.tick("1")

    assert set(service.store.digests()) == set(conductor.documents)
    conductor.asked = 0
    service.tick("1")
    assert conductor.asked == 1


def test_document_that_is_never_right_is_asked_for_once_a_tick(conductor: DocumentsAsked, tmp_path: Path) -> None:
    conductor.documents = {uuid: replace(one, host="h2") for uuid, one in conductor.documents.items()}
    conductor.at_once = 1
    service = started(conductor, Namespaces(), tmp_path)

    service.tick("1")

    assert conductor.asked == 1
    assert service.store.digests() == {}


def test_control_plane_of_the_release_before_is_left_alone(conductor: DocumentsAsked, tmp_path: Path) -> None:
    conductor.knows_documents = False
    service = started(conductor, Namespaces(), tmp_path)

    service.tick("1")
    service.tick("1")
    assert conductor.asked == 1
    service.tick("2")
    assert conductor.asked == 2


def test_agent_has_the_documents_of_its_guests_and_fetches_them_again_when_networks_changed(world: World) -> None:
    world.conductor.documents = {ONE: GuestDocument(HOST, guest_of(ONE, "10.0.0.5"))}
    running = world.start(metadata_interval_s=600.0)
    directory = world.state_dir / "metadata"
    eventually((directory / f"{ONE}.json").exists)

    world.conductor.documents = {TWO: GuestDocument(HOST, guest_of(TWO, "10.0.0.6"))}
    running.agent.context.networking.changed.set()

    eventually(lambda: (directory / f"{TWO}.json").exists() and not (directory / f"{ONE}.json").exists())
    assert running.end() == 0
