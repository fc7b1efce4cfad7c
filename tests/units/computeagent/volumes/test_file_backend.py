"""Volumes as files: the contract, and what only files have."""

import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.protocol.volumes import PoolAbility, VolumeSource, VolumeSourceKind, VolumeSpec
from computeagent.volumes import luks
from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.file.backend import FileBackend
from computeagent.volumes.file.directory import MARKER, PoolDirectory, pool_begin
from tests.fixtures.patience import PATIENCE_S
from tests.units.computeagent.volumes.volume_backend_contract import (
    GIB,
    PASSPHRASE,
    PIECE,
    PoolWorld,
    VolumeBackendContract,
    nobody,
    qemu_io,
    qemu_read,
    qemu_write,
)

ROOT = Path(__file__).resolve().parents[4]


class FileWorld(PoolWorld):
    """The pool is below `directory`; what the tests write themselves is in `home`."""

    def __init__(self, directory: Path, *, is_shared: bool, home: Path | None = None) -> None:
        self.keys: dict[str, bytes] = {}
        self.is_shared = is_shared
        self.home = home or directory
        self.path = directory / "pool"
        if is_shared:
            self.path.mkdir(parents=True)
            pool_begin(self.path)
        self.backend = self.again()

    def again(self) -> FileBackend:
        identity_file = None if self.is_shared else self.home / "state" / "pool"
        return FileBackend(self.pool, PoolDirectory(self.path, identity_file), is_shared=self.is_shared, let_go_s=0.1)

    def lose(self) -> None:
        self.backend.report()
        self.path.rename(self.home / "elsewhere")
        self.path.mkdir()

    def options(self, volume: VolumeSpec) -> list[str]:
        path = self.backend.connect(volume).path
        if not volume.is_encrypted:
            return ["-f", "raw", path]
        driver = f"driver=luks,key-secret=k,file.driver=file,file.filename={path}"
        return ["--object", "secret,id=k,file={key}", "--image-opts", driver]

    def bytes_of(self, volume: VolumeSpec, offset: int, count: int) -> bytes:
        return qemu_read(self.options(volume), offset, count, passphrase=self.keys[volume.id])

    def put(self, volume: VolumeSpec, offset: int, content: bytes) -> None:
        qemu_write(self.options(volume), offset, content, self.home)


class TestFileBackend(VolumeBackendContract):
    @pytest.fixture(params=[False, True], ids=["own", "shared"])
    def world(self, tmp_path: Path, request: pytest.FixtureRequest) -> FileWorld:
        return FileWorld(tmp_path, is_shared=request.param)


@pytest.fixture
def world(tmp_path: Path) -> FileWorld:
    return FileWorld(tmp_path, is_shared=False)


@pytest.fixture
def contract() -> VolumeBackendContract:
    return VolumeBackendContract()


def test_an_own_directory_is_begun_once_and_remembered(world: FileWorld) -> None:
    identity = world.backend.report().identity
    assert (world.path / MARKER).read_text().strip() == identity
    (world.path / MARKER).write_text(f"{uuid.uuid4()}\n")
    assert "another pool's" in world.backend.report().problem
    (world.path / MARKER).unlink()
    assert "is it mounted?" in world.backend.report().problem
    (world.path / MARKER).write_text("no uuid")
    assert "must be a UUID" in world.backend.report().problem


def test_a_shared_directory_without_its_marker_is_never_begun_by_a_host(tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    backend = FileBackend("shared", PoolDirectory(tmp_path / "mount", None), is_shared=True)
    problem = backend.report().problem
    assert "mount it" in problem
    assert "uuidgen" in problem
    assert list((tmp_path / "mount").iterdir()) == []


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_directory_that_is_not_mounted_is_away(
    contract: VolumeBackendContract, tmp_path: Path, is_shared: bool
) -> None:
    world = FileWorld(tmp_path, is_shared=is_shared)
    volume = contract.volume(world)
    contract.made(world, volume)
    world.lose()
    with pytest.raises(VolumeBackendError, match="mount") as raised:
        world.again().connect(volume)
    assert raised.value.is_away


def test_names_that_are_no_ids_lead_nowhere(world: FileWorld, contract: VolumeBackendContract) -> None:
    volume = replace(contract.volume(world), id="../../etc/passwd")
    world.keys[volume.id] = b""
    with pytest.raises(VolumeBackendError, match="no id"):
        contract.made(world, volume)
    with pytest.raises(VolumeBackendError, match="no id"):
        world.backend.delete(volume)


def test_holes_stay_holes(world: FileWorld, contract: VolumeBackendContract) -> None:
    volume, snapshot = contract.volume(world), str(uuid.uuid4())
    contract.made(world, volume)
    world.put(volume, 512 * 2**20, b"x" * PIECE)
    facts = world.backend.snapshot_create(volume, snapshot, nobody)
    assert facts.used_bytes < 4 * PIECE


def test_a_volume_that_a_guest_has_open_is_not_touched(world: FileWorld, contract: VolumeBackendContract) -> None:
    volume, snapshot = contract.volume(world), str(uuid.uuid4())
    contract.made(world, volume)
    world.backend.snapshot_create(volume, snapshot, nobody)
    guest = subprocess.Popen(
        ["qemu-io", "-f", "raw", world.backend.connect(volume).path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert guest.stdin is not None
        assert guest.stdout is not None
        guest.stdin.write(b"length\n")
        guest.stdin.flush()
        guest.stdout.readline()
        for asked in (
            lambda: world.backend.delete(volume),
            lambda: world.backend.extend(replace(volume, size_gib=2)),
            lambda: world.backend.snapshot_create(volume, str(uuid.uuid4()), nobody),
            lambda: world.backend.revert(volume, snapshot, nobody),
            lambda: contract.made(world, contract.volume(world), VolumeSource(VolumeSourceKind.VOLUME, id=volume.id)),
        ):
            with pytest.raises(VolumeBackendError, match="a guest has volume"):
                asked()
    finally:
        guest.kill()
        guest.wait()
    world.backend.delete(volume)


def copy_begun(world: FileWorld, contract: VolumeBackendContract) -> tuple[VolumeSpec, str, Path]:
    """A volume, a snapshot of it, and the file that its guest's copy goes into."""
    volume, snapshot = contract.volume(world), str(uuid.uuid4())
    contract.made(world, volume)
    target = world.backend.snapshot_target(volume, snapshot)
    assert target is not None
    return volume, snapshot, target


def test_a_copy_of_a_running_guests_volume_becomes_the_snapshot(
    world: FileWorld, contract: VolumeBackendContract
) -> None:
    volume, snapshot, target = copy_begun(world, contract)
    target.write_bytes(b"copied".ljust(PIECE, b"\0"))
    os.truncate(target, GIB)
    assert world.backend.held()[1] == ()
    assert world.backend.snapshot_keep(volume, snapshot).size_bytes == GIB
    assert world.backend.snapshot_keep(volume, snapshot).size_bytes == GIB
    assert world.backend.held()[1] == ((volume.id, snapshot),)
    assert dict(world.backend.read(volume, snapshot))[0].startswith(b"copied")
    assert not target.exists()


def test_a_copy_that_qemu_laid_out_whole_takes_no_more_than_its_bytes(
    world: FileWorld, contract: VolumeBackendContract
) -> None:
    """QEMU's backup job writes zeros by reserving the space: a blank GiB takes a GiB, though it reads as a hole."""
    volume, snapshot, target = copy_begun(world, contract)
    with target.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, GIB)
        os.pwrite(file.fileno(), b"copied", GIB // 2)
        os.fsync(file.fileno())
    facts = world.backend.snapshot_keep(volume, snapshot)
    assert facts.size_bytes == GIB
    assert facts.used_bytes <= PIECE
    copied = dict(world.backend.read(volume, snapshot))
    assert [(at, data.rstrip(b"\0")) for at, data in copied.items()] == [(GIB // 2, b"copied")]


@pytest.mark.processes
def test_an_encrypted_file_is_as_qemu_has_it_and_closed_to_others(
    world: FileWorld, contract: VolumeBackendContract
) -> None:
    volume, snapshot = contract.volume(world, is_encrypted=True), str(uuid.uuid4())
    seen: list[bytes] = []

    def look(_done: int, _total: int) -> None:
        for _ in range(20):
            for pid in filter(str.isdecimal, os.listdir("/proc")):
                try:
                    seen.append(Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes())
                except OSError:
                    continue
            time.sleep(0.01)

    source, image = VolumeSource(VolumeSourceKind.IMAGE, id=str(uuid.uuid4()), disk_format="raw"), _image(world)
    contract.made(world, volume, source, image_file=lambda: image, progress=look)
    assert any(b"qemu-img" in each and b"secret,id=" in each for each in seen)
    assert not any(PASSPHRASE in each for each in seen)
    assert world.bytes_of(volume, 0, 5) == b"image"
    world.backend.snapshot_create(volume, snapshot, nobody)
    path = Path(world.backend.connect(volume).path)
    assert luks.payload_offset(path) == luks.HEADER_BYTES
    assert qemu_io(world.options(volume), "length", passphrase=PASSPHRASE).strip() == "1 GiB"
    world.backend.extend(replace(volume, size_gib=5))
    assert qemu_io(world.options(volume), "length", passphrase=PASSPHRASE).strip() == "5 GiB"
    files = [each for each in world.path.rglob("*") if each.is_file() and each.name != MARKER]
    assert len(files) == 2
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}
    assert {each.stat().st_mode & 0o777 for each in world.path.iterdir() if each.is_dir()} == {0o711}
    target = world.backend.snapshot_target(volume, str(uuid.uuid4()))
    assert target is not None
    target.write_bytes(b"in clear".ljust(PIECE, b"\0"))
    with pytest.raises(VolumeBackendError, match="not LUKS"):
        world.backend.snapshot_keep(volume, target.name.rpartition(".")[2])
    assert not target.exists()
    assert world.backend.held()[1] == ((volume.id, snapshot),)


def test_a_late_copy_does_not_take_the_place_of_one_that_is_in_use(
    world: FileWorld, contract: VolumeBackendContract
) -> None:
    """A host that was thought dead comes back with a copy that it began before another one made the volume."""
    volume = contract.volume(world)
    image = world.home / "raw"
    image.write_bytes(b"image".ljust(2**20, b"\0"))
    source = VolumeSource(VolumeSourceKind.IMAGE, id=str(uuid.uuid4()), disk_format="raw")
    others: list[bool] = []

    def another_host(_done: int, _total: int) -> None:
        if not others:
            others.append(True)
            world.again().create(volume, source, image_file=lambda: image, key_of=lambda _: b"", progress=nobody)
            world.put(volume, 0, b"guest" + bytes(507))

    with pytest.raises(VolumeBackendError):
        contract.made(world, volume, source, image_file=lambda: image, progress=another_host)
    assert world.bytes_of(volume, 0, 5) == b"guest"
    assert list((world.path / "parts").iterdir()) == []


def test_two_guests_may_have_a_raw_file_open_where_both_say_so(
    world: FileWorld, contract: VolumeBackendContract
) -> None:
    """What `<shareable/>` makes of a disk: share-rw. Without it QEMU's lock on the file keeps a second guest away."""
    assert PoolAbility.MULTI_ATTACH in world.backend.report().abilities
    volume = contract.volume(world)
    contract.made(world, volume)
    path = world.backend.connect(volume).path
    guests: list[subprocess.Popen[bytes]] = []

    def guest(shares: str) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg", "-m", "16", "-display", "none", "-S", "-nodefaults",
             "-blockdev", f"driver=file,filename={path},node-name=f", "-blockdev", "driver=raw,file=f,node-name=d",
             "-device", f"virtio-blk-pci,drive=d,share-rw={shares}", "-monitor", "stdio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        guests.append(started)
        return started

    def answers(started: subprocess.Popen[bytes]) -> bool:
        assert started.stdout is not None
        return started.stdout.readline().startswith(b"QEMU")

    try:
        assert answers(guest("on"))
        assert answers(guest("on"))
        alone = guest("off")
        _, complaint = alone.communicate(timeout=PATIENCE_S)
        assert b"lock" in complaint
    finally:
        for each in guests:
            each.kill()
            each.wait()


@pytest.mark.processes
@pytest.mark.parametrize("point", ["made", "published"])
def test_killed_while_it_is_made_a_volume_is_whole_or_not_there(
    world: FileWorld, contract: VolumeBackendContract, point: str
) -> None:
    volume = contract.volume(world)
    making = _process(world, BACKEND + MAKE, [volume.id, str(_image(world))], f"computeagent.volumes.file:{point}")
    died = making.wait(timeout=PATIENCE_S)
    assert died == -signal.SIGKILL
    assert world.again().held()[0] == ((volume.id,) if point == "published" else ())
    assert len(list((world.path / "parts").iterdir())) == 1
    source = VolumeSource(VolumeSourceKind.IMAGE, id=str(uuid.uuid4()), disk_format="raw")
    contract.made(world, volume, source, image_file=lambda: _image(world))
    assert world.bytes_of(volume, 0, 5) == b"image"
    assert list((world.path / "parts").iterdir()) == []


@pytest.mark.processes
@pytest.mark.parametrize(
    ("verb", "point", "is_done"),
    [("snapshot_create", "copied", False), ("snapshot_keep", "kept", True), ("revert", "reverting", False)],
)
def test_killed_anywhere_else_it_is_done_or_not_and_done_again(
    world: FileWorld, contract: VolumeBackendContract, verb: str, point: str, is_done: bool
) -> None:
    volume, snapshot = contract.volume(world), str(uuid.uuid4())
    contract.made(world, volume)
    world.put(volume, 0, b"then")
    if verb == "revert":
        world.backend.snapshot_create(volume, snapshot, nobody)
        world.put(volume, 0, b"now!")
    if verb == "snapshot_keep":
        target = world.backend.snapshot_target(volume, snapshot)
        assert target is not None
        target.write_bytes(b"then".ljust(512, b"\0"))
    code = f"{BACKEND}\nbackend.{verb}(volume, {snapshot!r}{', progress' if verb != 'snapshot_keep' else ''})"
    died = _process(world, code, [volume.id], f"computeagent.volumes.file:{point}").wait(timeout=PATIENCE_S)
    assert died == -signal.SIGKILL
    if verb == "revert":
        assert world.bytes_of(volume, 0, 4) == b"now!"
    else:
        assert bool(world.again().held()[1]) is is_done
    backend = world.again()
    if verb == "snapshot_keep":
        backend.snapshot_keep(volume, snapshot)
    else:
        getattr(backend, verb)(volume, snapshot, nobody)
    if verb == "revert":
        assert world.bytes_of(volume, 0, 4) == b"then"
    assert dict(backend.read(volume, snapshot))[0].startswith(b"then")
    assert list((world.path / "parts").iterdir()) == []


@pytest.mark.processes
def test_qemu_img_ends_with_the_process_that_wanted_it(world: FileWorld, contract: VolumeBackendContract) -> None:
    volume = contract.volume(world, is_encrypted=True)
    image = _image(world, 900 * 2**20)
    process = _process(world, BACKEND + MAKE, [volume.id, str(image), "encrypted"])
    mark = str(world.path).encode()
    end = time.monotonic() + 90
    while not _qemu_img_of(mark):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    end = time.monotonic() + 60
    while _qemu_img_of(mark) and time.monotonic() < end:
        time.sleep(0.01)
    assert _qemu_img_of(mark) == []
    world.again().delete(volume)
    assert list((world.path / "parts").iterdir()) == []


def test_a_full_pool_says_so_with_numbers_and_leaves_nothing(contract: VolumeBackendContract, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a small file system is mounted by root")
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(mount)], check=True)
    try:
        world = FileWorld(mount, is_shared=False, home=tmp_path)
        volume = contract.volume(world)
        contract.made(world, volume)
        with pytest.raises(VolumeBackendError, match=r"0\.1 GiB free.*1\.0 GiB more"):
            world.backend.snapshot_target(volume, str(uuid.uuid4()))  # blank, and QEMU lays a copy out whole
        world.put(volume, 0, b"x" * (40 * 2**20))
        with pytest.raises(VolumeBackendError, match=r"0\.0 GiB free") as full:
            world.backend.snapshot_create(volume, str(uuid.uuid4()), nobody)
        assert not full.value.is_away
        image = _image(world)
        image.write_bytes(b"y" * (40 * 2**20))
        source = VolumeSource(VolumeSourceKind.IMAGE, id=str(uuid.uuid4()), disk_format="raw")
        with pytest.raises(VolumeBackendError, match=r"0\.0 GiB free"):
            contract.made(world, contract.volume(world), source, image_file=lambda: image)
        assert world.backend.held() == ((volume.id,), ())
        assert list((world.path / "parts").iterdir()) == []
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_where_the_file_system_shares_blocks_copies_cost_nothing(
    contract: VolumeBackendContract, tmp_path: Path
) -> None:
    mount = tmp_path / "xfs"
    mount.mkdir()
    disk = tmp_path / "xfs.img"
    disk.touch()
    os.truncate(disk, 400 * 2**20)
    made = [["mkfs.xfs", "-q", "-m", "reflink=1", str(disk)], ["mount", "-o", "loop", str(disk), str(mount)]]
    for command in made:
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip(f"{command[0]} is not possible here")
    try:
        world = FileWorld(mount, is_shared=False, home=tmp_path)
        report = world.backend.report()
        assert PoolAbility.CLONE in report.abilities
        assert report.lacks == ()
        volume, snapshot = contract.volume(world), str(uuid.uuid4())
        contract.made(world, volume)
        world.put(volume, 0, b"x" * (100 * 2**20))
        free = world.backend.report().free_bytes
        world.backend.snapshot_create(volume, snapshot, nobody)
        clone = contract.volume(world, 2)
        contract.made(world, clone, VolumeSource(VolumeSourceKind.SNAPSHOT, id=snapshot, volume_id=volume.id))
        assert free - world.backend.report().free_bytes < 20 * 2**20
        assert world.bytes_of(clone, 99 * 2**20, 4) == b"xxxx"
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_a_limit_is_what_a_pool_may_promise(tmp_path: Path, contract: VolumeBackendContract) -> None:
    world = FileWorld(tmp_path, is_shared=False)
    world.backend = FileBackend("pool", PoolDirectory(world.path, tmp_path / "state"), is_shared=False, limit_gib=3)
    assert world.backend.report().total_bytes == 3 * GIB
    volume = contract.volume(world)
    contract.made(world, volume)
    world.put(volume, 0, b"x" * 2**20)
    assert 3 * GIB - 2 * 2**20 <= world.backend.report().free_bytes <= 3 * GIB - 2**20


BACKEND = """
import sys
from pathlib import Path
from computeagent.protocol.volumes import *
from computeagent.volumes.file.backend import FileBackend
from computeagent.volumes.file.directory import PoolDirectory
path, identity, pk, *more = sys.argv[1:]
progress = lambda done, total: None
backend = FileBackend("pool", PoolDirectory(Path(path), Path(identity)), is_shared=False)
volume = VolumeSpec(pk, "pool", PoolKind.FILE, 1, is_encrypted="encrypted" in more)
"""
MAKE = """
backend.create(
    volume, VolumeSource(VolumeSourceKind.IMAGE, id=pk, disk_format="raw"),
    image_file=lambda: Path(more[0]), key_of=lambda _: b"key", progress=progress,
)
"""


def _image(world: FileWorld, size: int = 2**20) -> Path:
    path = world.home / "raw-image"
    path.write_bytes(b"image".ljust(2**20, b"i"))
    os.truncate(path, size)
    return path


def _process(world: FileWorld, code: str, arguments: list[str], point: str = "") -> "subprocess.Popen[bytes]":
    """An agent's process, as far as the backend goes; killed at this point."""
    drill = world.home / "drill"
    (drill / "armed").mkdir(parents=True, exist_ok=True)
    if point:
        (drill / "armed" / point).write_text("kill")
    world.backend.report()
    return subprocess.Popen(
        [sys.executable, "-c", code, str(world.path), str(world.home / "state" / "pool"), *arguments],
        cwd=ROOT,
        env={**os.environ, "KILONOVA_DRILL": str(drill)},
    )


def _qemu_img_of(mark: bytes) -> list[str]:
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"qemu-img") and any(mark in word for word in words):
            found.append(pid)
    return found
