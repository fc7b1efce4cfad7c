"""Volumes that a storage daemon serves: the contract, what guests here and elsewhere get, and daemons that die."""

import os
import pwd
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.protocol.volumes import NO_SOURCE, PoolAbility, PoolKind, VolumeSpec
from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.factory import QEMU_USER, host_pools
from computeagent.volumes.file.directory import PoolDirectory
from computeagent.volumes.nbd.backend import NbdBackend
from computeagent.volumes.nbd.client import NbdClient
from computeagent.volumes.nbd.daemon import NbdAddress, StorageDaemon
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.qemu_certificates import certificates_make
from tests.fixtures.servers import free_port
from tests.units.computeagent.volumes.volume_backend_contract import (
    GIB,
    PIECE,
    PoolWorld,
    VolumeBackendContract,
    no_image,
    nobody,
    qemu_io,
    qemu_read,
    qemu_write,
)

pytestmark = [pytest.mark.processes, pytest.mark.long]
ROOT = Path(__file__).resolve().parents[4]


class NbdWorld(PoolWorld):
    kind = PoolKind.NBD

    def __init__(self, directory: Path, tls_directory: Path | None = None) -> None:
        self.keys: dict[str, bytes] = {}
        self.home = directory
        self.path = directory / "pool"
        self.port = free_port()
        self.address = NbdAddress(host="127.0.0.1", port=self.port, tls_directory=tls_directory)
        self.backend = self.again()

    def again(self) -> NbdBackend:
        directory = PoolDirectory(self.path, self.home / "state" / "pool")
        return NbdBackend(self.pool, directory, self.address, let_go_s=0.5)

    def client(self) -> NbdClient:
        return NbdClient(self.pool, self.address, self.home / "client")

    def daemon(self, name: str) -> StorageDaemon:
        return StorageDaemon(self.path / "run", name, NbdAddress())

    def lose(self) -> None:
        self.backend.end()
        self.path.rename(self.home / "elsewhere")
        self.path.mkdir()

    def options(self, volume: VolumeSpec) -> list[str]:
        if not volume.is_encrypted:
            return ["-f", "raw", f"nbd://127.0.0.1:{self.port}/{volume.id}"]
        place = f"file.driver=nbd,file.host=127.0.0.1,file.port={self.port},file.export={volume.id}"
        return ["--object", "secret,id=k,file={key}", "--image-opts", f"driver=luks,key-secret=k,{place}"]

    def bytes_of(self, volume: VolumeSpec, offset: int, count: int) -> bytes:
        return qemu_read(self.options(volume), offset, count, passphrase=self.keys[volume.id])

    def put(self, volume: VolumeSpec, offset: int, content: bytes) -> None:
        qemu_write(self.options(volume), offset, content, self.home)


@pytest.fixture
def world() -> Iterator[NbdWorld]:
    with tempfile.TemporaryDirectory(prefix="kn-nbd") as directory:  # short enough for sockets
        world = NbdWorld(Path(directory))
        yield world
        world.client().end()
        world.backend.end()


class TestNbdBackend(VolumeBackendContract):
    """All of it, with each volume read and written by its server."""


@pytest.fixture
def contract() -> VolumeBackendContract:
    return VolumeBackendContract()


@pytest.fixture
def volume(world: NbdWorld, contract: VolumeBackendContract) -> VolumeSpec:
    volume = contract.volume(world)
    return contract.placed(volume, contract.made(world, volume))


def test_guests_elsewhere_find_it_where_its_location_says(world: NbdWorld, volume: VolumeSpec) -> None:
    assert volume.location == {"host": "127.0.0.1", "port": str(world.port), "export": volume.id}
    report, seen = world.backend.report(), world.client().report()
    assert (seen.name, seen.kind, seen.identity, seen.is_client) == (report.name, report.kind, report.identity, True)
    assert not report.is_shared
    assert not report.is_client
    world.put(volume, 0, b"data")
    source = world.client().connect(volume)
    there = ["-f", "raw", f"nbd+unix:///{volume.id}?socket={source.socket}"]
    assert (source.host, source.export) == ("", volume.id)
    assert qemu_read(there, 0, 4) == b"data"
    with pytest.raises(VolumeBackendError, match="a guest has volume"):
        world.backend.delete(volume)
    with pytest.raises(VolumeBackendError, match="which alone changes it"):
        world.client().delete(volume)
    world.client().disconnect(volume)
    world.client().disconnect(volume)
    world.backend.end()
    assert "does not answer" in world.client().report().problem
    with pytest.raises(VolumeBackendError, match="Connection refused") as raised:
        world.client().connect(volume)
    assert raised.value.is_away


def test_guests_elsewhere_wait_for_a_server_that_is_away_and_go_on(world: NbdWorld, volume: VolumeSpec) -> None:
    source = world.client().connect(volume)
    there = ["-f", "raw", f"nbd+unix:///{volume.id}?socket={source.socket}"]
    guest = subprocess.Popen(["qemu-io", *there], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert guest.stdin is not None
    guest.stdin.write(b"write -P 1 0 64k\n")
    guest.stdin.flush()
    time.sleep(0.5)
    world.backend.end()
    guest.stdin.write(b"write -P 2 0 64k\nflush\n")
    guest.stdin.flush()
    time.sleep(1)
    assert world.again().report().problem == ""
    said, _ = guest.communicate(b"quit\n", timeout=PATIENCE_S)
    assert said.count(b"wrote 65536/65536") == 2
    assert qemu_read(there, 0, 1) == b"\2"


def test_what_a_client_had_connected_is_connected_again_behind_a_daemon_that_died(
    world: NbdWorld, volume: VolumeSpec
) -> None:
    source = world.client().connect(volume)
    daemon = StorageDaemon(world.home / "client", "client", NbdAddress())
    pid = daemon.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while daemon.pid() == pid:
        time.sleep(0.01)
    assert world.client().report().problem == ""
    there = ["-f", "raw", f"nbd+unix:///{volume.id}?socket={source.socket}"]
    assert qemu_read(there, 0, 1) == b"\0"
    world.client().disconnect(volume)


def test_guests_here_have_a_socket_and_nobody_else_has_it_meanwhile(
    world: NbdWorld, contract: VolumeBackendContract, volume: VolumeSpec
) -> None:
    world.put(volume, 0, b"written elsewhere")
    source = world.backend.connect(volume)
    assert source.host == ""
    here = ["-f", "raw", f"nbd+unix:///{volume.id}?socket={source.socket}"]
    assert qemu_read(here, 0, 7) == b"written"
    assert world.again().connect(volume) == source
    with pytest.raises(AssertionError, match="not available"):
        world.bytes_of(volume, 0, 1)
    qemu_write(here, 0, b"changed", world.home)
    world.backend.disconnect(volume)
    assert world.bytes_of(volume, 0, 7) == b"changed"


def test_while_a_guest_elsewhere_has_it_one_here_gets_the_same_server(world: NbdWorld, volume: VolumeSpec) -> None:
    with _guest(world, volume):
        source = world.backend.connect(volume)
        assert (source.host, source.port) == ("127.0.0.1", world.port)
        for asked in (lambda: world.backend.delete(volume), lambda: world.backend.extend(volume)):
            with pytest.raises(VolumeBackendError, match="a guest has volume"):
                asked()
    world.backend.disconnect(volume)
    world.backend.delete(volume)


@pytest.mark.parametrize("is_here", [True, False], ids=["here", "elsewhere"])
def test_a_snapshot_is_of_one_moment_while_a_guest_writes(world: NbdWorld, volume: VolumeSpec, is_here: bool) -> None:
    """The guest counts, first at the beginning of the volume and then at its end: at every moment the end is behind."""
    assert PoolAbility.SNAPSHOT_ATTACHED in world.backend.report().abilities
    options = world.options(volume)
    if is_here:
        source = world.backend.connect(volume)
        options = ["-f", "raw", f"nbd+unix:///{volume.id}?socket={source.socket}"]
    end = GIB - PIECE
    qemu_io(options, f"write -P 1 0 {PIECE}", f"write -P 1 {end} {PIECE}", "write -P 9 10M 64M", "flush")
    stopping, counts = threading.Event(), [1]

    def count() -> None:
        guest = subprocess.Popen(["qemu-io", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert guest.stdin is not None
        assert guest.stdout is not None
        while not stopping.is_set() and counts[-1] < 255:
            for offset in (0, end):
                guest.stdin.write(f"write -P {counts[-1] + 1} {offset} {PIECE}\nflush\n".encode())
                guest.stdin.flush()
                while b"ops" not in guest.stdout.readline():
                    pass
            counts.append(counts[-1] + 1)
            time.sleep(0.005)
        guest.communicate(b"quit\n")

    guest, snapshot = threading.Thread(target=count), str(uuid.uuid4())
    guest.start()
    facts = world.backend.snapshot_create(volume, snapshot, nobody)
    stopping.set()
    guest.join()
    pieces = dict(world.backend.read(volume, snapshot))
    first, last = pieces[0], pieces[end]
    assert len(set(first)) == len(set(last)) == 1
    assert last[0] <= first[0] <= last[0] + 1
    assert counts[-1] >= first[0]
    assert len(counts) > 2
    assert facts.size_bytes == GIB
    assert facts.used_bytes < 80 * 2**20
    assert set(pieces[10 * 2**20]) == {9}


def test_a_snapshot_that_is_given_up_leaves_nothing(world: NbdWorld, volume: VolumeSpec) -> None:
    snapshot = str(uuid.uuid4())

    def give_up(_done: int, _total: int) -> None:
        raise InterruptedError("somebody else has the work")

    with pytest.raises(VolumeBackendError):
        world.backend.snapshot_create(volume, snapshot, give_up)
    assert world.backend.held()[1] == ()
    assert list((world.path / "parts").iterdir()) == []
    world.backend.snapshot_create(volume, snapshot, nobody)
    assert world.backend.held()[1] == ((volume.id, snapshot),)


def test_daemons_outlive_the_agent_and_are_brought_back_with_what_they_served(
    world: NbdWorld, volume: VolumeSpec
) -> None:
    world.put(volume, 0, b"data")
    network = world.daemon("network").pid()
    assert network is not None
    assert world.again().report().problem == ""
    assert world.daemon("network").pid() == network

    source = world.backend.connect(volume)
    for name in ("network", "local"):
        pid = world.daemon(name).pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while world.daemon("local").pid() is not None and time.monotonic() < end:
        time.sleep(0.01)
    after = world.again()
    assert after.report().problem == ""
    assert qemu_read(["-f", "raw", f"nbd+unix:///{volume.id}?socket={source.socket}"], 0, 4) == b"data"
    after.disconnect(volume)
    assert world.bytes_of(volume, 0, 4) == b"data"


MAKE = """
import sys
from pathlib import Path
from computeagent.protocol.volumes import *
from computeagent.volumes.file.directory import PoolDirectory
from computeagent.volumes.nbd.backend import NbdBackend
from computeagent.volumes.nbd.daemon import NbdAddress
path, identity, port, pk = sys.argv[1:]
backend = NbdBackend("pool", PoolDirectory(Path(path), Path(identity)), NbdAddress(host="127.0.0.1", port=int(port)))
volume = VolumeSpec(pk, "pool", PoolKind.NBD, 1)
progress = lambda done, total: None
backend.create(volume, NO_SOURCE, image_file=Path, key_of=lambda _: b"", progress=progress)
backend.snapshot_create(volume, pk, progress)
"""


@pytest.mark.parametrize("point", ["started", "opened", "copying"])
def test_agent_that_is_killed_anywhere_leaves_what_the_next_one_puts_right(
    world: NbdWorld, contract: VolumeBackendContract, point: str
) -> None:
    volume, armed = contract.volume(world), world.home / "drill" / "armed"
    armed.mkdir(parents=True)
    (armed / f"computeagent.volumes.nbd.daemon:{point}").write_text("kill")
    arguments = [str(world.path), str(world.home / "state" / "pool"), str(world.port), volume.id]
    environment = {**os.environ, "KILONOVA_DRILL": str(world.home / "drill")}
    died = subprocess.run([sys.executable, "-c", MAKE, *arguments], cwd=ROOT, env=environment, check=False)
    assert died.returncode == -signal.SIGKILL
    backend = world.again()
    assert backend.report().problem == ""
    contract.made(world, volume)
    world.put(volume, 0, b"data")
    backend.snapshot_create(volume, volume.id, nobody)
    assert dict(backend.read(volume, volume.id))[0].startswith(b"data")
    assert backend.held() == ((volume.id,), ((volume.id, volume.id),))
    assert list((world.path / "parts").iterdir()) == []
    backend.delete(volume)
    assert world.daemon("network").exports() == set()


def test_with_tls_only_who_has_a_certificate_of_the_same_authority_reaches_anything(
    world: NbdWorld, contract: VolumeBackendContract
) -> None:
    tls = world.home / "tls"
    certificates_make(tls, "127.0.0.1")
    certificates_make(world.home / "strangers", "127.0.0.1")
    guarded = NbdWorld(world.home / "guarded", tls)
    try:
        volume = contract.volume(guarded)
        contract.made(guarded, volume)
        assert guarded.client().report().problem == ""
        source = guarded.client().connect(volume)
        assert qemu_read(["-f", "raw", f"nbd+unix:///{volume.id}?socket={source.socket}"], 0, 4) == bytes(4)
        for stranger in (None, world.home / "strangers"):
            address = replace(guarded.address, tls_directory=stranger)
            assert "does not answer" in NbdClient("pool", address, world.home / "nobody").report().problem
        with pytest.raises(AssertionError, match="TLS"):
            guarded.bytes_of(volume, 0, 1)
    finally:
        guarded.client().end()
        guarded.backend.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_root_has_its_files_served_by_the_user_that_guests_run_as(contract: VolumeBackendContract) -> None:
    with tempfile.TemporaryDirectory(prefix="kn-nbd") as directory:
        home = Path(directory)
        home.chmod(0o711)
        port = free_port()
        pools = host_pools([f"net=nbd:{home / 'pool'}@127.0.0.1?port={port}"], state_dir=home / "state")
        backend = pools.backends["net"]
        assert isinstance(backend, NbdBackend)
        try:
            assert backend.report().problem == ""
            volume = VolumeSpec(str(uuid.uuid4()), "net", PoolKind.NBD, 1)
            backend.create(volume, NO_SOURCE, image_file=no_image, key_of=lambda _: b"", progress=nobody)
            source = backend.connect(volume)
            as_guests = ("setpriv", f"--reuid={QEMU_USER}", f"--regid={QEMU_USER}", "--init-groups")
            url = f"nbd+unix:///{volume.id}?socket={source.socket}"
            written = subprocess.run([*as_guests, "qemu-io", "-f", "raw", url, "-c", "write 0 64k"], check=False)
            assert written.returncode == 0
            as_others = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
            refused = subprocess.run(
                [*as_others, "qemu-io", "-f", "raw", url, "-c", "length"], capture_output=True, text=True, check=False
            )
            assert "Permission denied" in refused.stderr
            daemon = StorageDaemon(home / "pool" / "run", "local", NbdAddress())
            assert Path(f"/proc/{daemon.pid()}").stat().st_uid == pwd.getpwnam(QEMU_USER).pw_uid
            backend.snapshot_create(volume, str(uuid.uuid4()), nobody)
        finally:
            backend.end()


def test_a_port_that_is_taken_is_a_problem_in_words(world: NbdWorld) -> None:
    taken = NbdBackend(
        "other",
        PoolDirectory(world.home / "b", world.home / "state" / "b"),
        NbdAddress(host="127.0.0.1", port=world.port),
    )
    assert world.backend.report().problem == ""
    assert "does not start" in taken.report().problem
    assert "in use" in taken.report().problem


class _guest:  # noqa: N801 - reads as a context
    """Something elsewhere that has the volume open."""

    def __init__(self, world: NbdWorld, volume: VolumeSpec) -> None:
        self._command = ["qemu-io", *world.options(volume)]

    def __enter__(self) -> None:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"length\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
