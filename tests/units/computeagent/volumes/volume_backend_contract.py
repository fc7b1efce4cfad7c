"""What every backend of volumes has to do, on real bytes.

A backend's tests subclass `VolumeBackendContract` and give it a `PoolWorld`.
"""

import os
import re
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.protocol.volumes import (
    NO_SOURCE,
    PoolAbility,
    PoolKind,
    VolumeFacts,
    VolumeSource,
    VolumeSourceKind,
    VolumeSpec,
)
from computeagent.volumes.base import VolumeBackend, VolumeBackendError

GIB = 2**30
PIECE = 256 * 1024
PASSPHRASE = b"correct horse battery staple, random enough"


class PoolWorld:
    """A pool of the kind that is tested, and what only its kind knows."""

    backend: VolumeBackend
    pool = "pool"
    kind = PoolKind.FILE
    keys: dict[str, bytes]

    def again(self) -> VolumeBackend:
        """The same pool, as an agent has it that was started again."""
        raise NotImplementedError

    def lose(self) -> None:
        """The pool is not there any more."""
        raise NotImplementedError

    def bytes_of(self, volume: VolumeSpec, offset: int, count: int) -> bytes:
        """What a guest would read of the volume that no guest has."""
        raise NotImplementedError

    def put(self, volume: VolumeSpec, offset: int, content: bytes) -> None:
        """As a guest writes to the volume. Backends whose disks can be opened by qemu-io do so."""
        self.backend.write(volume, iter([(offset, content)]))


class Cancelled(Exception):
    """What a progress raises whose work was given to somebody else."""


def nobody(_done: int, _total: int) -> None:
    pass


def no_image() -> Path:
    raise AssertionError("no image was asked for")


def cancelled(_done: int, _total: int) -> None:
    raise Cancelled


class VolumeBackendContract:
    """Subclasses have a fixture `world`. Without `has_images` nothing is read out of an image."""

    has_images = True

    @pytest.fixture
    def backend(self, world: PoolWorld) -> VolumeBackend:
        return world.backend

    @pytest.fixture
    def image(self, tmp_path: Path) -> Path:
        """A qcow2 of 8 MiB that begins with a mark, and has another at 5 MiB."""
        if not self.has_images:
            pytest.skip("this pool reads no images")
        raw, path = tmp_path / "image.raw", tmp_path / "image"
        raw.write_bytes(b"image".ljust(5 * 2**20, b"\0") + b"later".ljust(3 * 2**20, b"\0"))
        subprocess.run(["qemu-img", "convert", "-O", "qcow2", str(raw), str(path)], check=True)
        return path

    def volume(self, world: PoolWorld, size_gib: int = 1, *, is_encrypted: bool = False) -> VolumeSpec:
        pk = str(uuid.uuid4())
        world.keys[pk] = PASSPHRASE
        return VolumeSpec(pk, world.pool, world.kind, size_gib, is_encrypted=is_encrypted)

    def made(
        self,
        world: PoolWorld,
        volume: VolumeSpec,
        source: VolumeSource = NO_SOURCE,
        *,
        image_file: Callable[[], Path] = no_image,
        progress: Callable[[int, int], None] = nobody,
    ) -> VolumeFacts:
        return world.backend.create(
            volume, source, image_file=image_file, key_of=lambda pk: world.keys[pk], progress=progress
        )

    def placed(self, volume: VolumeSpec, facts: VolumeFacts) -> VolumeSpec:
        """As the control plane has the volume from then on."""
        return replace(volume, location=facts.location)

    def image_source(self, path: Path) -> VolumeSource:
        return VolumeSource(
            VolumeSourceKind.IMAGE, id=str(uuid.uuid4()), size_bytes=path.stat().st_size, disk_format="qcow2"
        )

    def test_a_report_says_what_the_pool_is(self, world: PoolWorld, backend: VolumeBackend) -> None:
        report = backend.report()
        assert (report.name, report.kind, report.problem) == (world.pool, world.kind, "")
        assert report.identity
        assert 0 < report.free_bytes <= report.total_bytes
        assert world.again().report().identity == report.identity

    def test_a_blank_volume_is_made_once_and_read_as_zeros(self, world: PoolWorld, backend: VolumeBackend) -> None:
        volume = self.volume(world)
        facts = self.made(world, volume)
        volume = self.placed(volume, facts)
        assert facts.size_bytes == GIB
        world.put(volume, PIECE, b"data" * 1024)
        assert self.made(world, volume).size_bytes == GIB
        assert world.bytes_of(volume, PIECE, 8) == b"datadata"
        assert world.bytes_of(volume, 0, 512) == bytes(512)
        assert backend.held() == ((volume.id,), ())

    def test_volumes_of_images_are_whole_by_themselves(
        self, world: PoolWorld, backend: VolumeBackend, image: Path
    ) -> None:
        volume = self.volume(world)
        facts = self.made(world, volume, self.image_source(image), image_file=lambda: image)
        volume = self.placed(volume, facts)
        image.unlink()
        assert facts.size_bytes == GIB
        assert world.bytes_of(volume, 0, 5) == b"image"
        assert world.bytes_of(volume, 5 * 2**20, 5) == b"later"
        assert world.bytes_of(volume, GIB - 1024, 512) == bytes(512)

    def test_an_image_that_does_not_fit_is_refused_and_leaves_nothing(
        self, world: PoolWorld, backend: VolumeBackend, tmp_path: Path
    ) -> None:
        if not self.has_images:
            pytest.skip("this pool reads no images")
        large = tmp_path / "large"
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(large), "3G"], check=True)
        with pytest.raises(VolumeBackendError, match=r"3 GiB .* volume of 1 GiB") as refused:
            self.made(world, self.volume(world), self.image_source(large), image_file=lambda: large)
        assert refused.value.is_users
        assert backend.held() == ((), ())

    def test_hostile_images_lead_nowhere(self, world: PoolWorld, backend: VolumeBackend, tmp_path: Path) -> None:
        if not self.has_images:
            pytest.skip("this pool reads no images")
        secret = tmp_path / "secret"
        secret.write_bytes(b"secret".ljust(2**20, b"\0"))
        for options in (["-F", "raw", "-b", str(secret)], ["-o", f"data_file={secret},data_file_raw=on"]):
            hostile = tmp_path / "hostile"
            hostile.unlink(missing_ok=True)
            subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *options, str(hostile), "1M"], check=True)
            with pytest.raises(VolumeBackendError) as refused:
                self.made(world, self.volume(world), self.image_source(hostile), image_file=lambda at=hostile: at)
            assert refused.value.is_users
            assert str(tmp_path) not in refused.value.message
        assert backend.held() == ((), ())

    def test_what_progress_raises_ends_the_making(self, world: PoolWorld, backend: VolumeBackend, image: Path) -> None:
        volume = self.volume(world)
        with pytest.raises(Cancelled):
            self.made(world, volume, self.image_source(image), image_file=lambda: image, progress=cancelled)
        assert backend.held() == ((), ())
        self.made(world, volume, self.image_source(image), image_file=lambda: image)
        assert backend.held() == ((volume.id,), ())

    def test_a_snapshot_is_one_moment(self, world: PoolWorld, backend: VolumeBackend) -> None:
        volume = self.volume(world)
        volume = self.placed(volume, self.made(world, volume))
        world.put(volume, 0, b"then" * 128)
        snapshot = str(uuid.uuid4())
        assert backend.snapshot_create(volume, snapshot, nobody).size_bytes == GIB
        world.put(volume, 0, b"now!" * 128)
        backend.snapshot_create(volume, snapshot, nobody)
        assert backend.held() == ((volume.id,), ((volume.id, snapshot),))
        assert dict(backend.read(volume, snapshot))[0].startswith(b"then")

        other = self.volume(world, 2)
        source = VolumeSource(VolumeSourceKind.SNAPSHOT, id=snapshot, volume_id=volume.id)
        facts = self.made(world, other, source)
        other = self.placed(other, facts)
        assert facts.size_bytes == 2 * GIB
        assert world.bytes_of(other, 0, 4) == b"then"

        assert backend.revert(volume, snapshot, nobody).size_bytes == GIB
        assert world.bytes_of(volume, 0, 4) == b"then"
        backend.snapshot_delete(volume, snapshot)
        backend.snapshot_delete(volume, snapshot)
        assert world.bytes_of(other, 0, 4) == b"then"
        assert backend.held()[1] == ()

    def test_a_volume_of_a_volume_goes_its_own_way(self, world: PoolWorld, backend: VolumeBackend) -> None:
        volume, other = self.volume(world), self.volume(world)
        volume = self.placed(volume, self.made(world, volume))
        world.put(volume, PIECE, b"one" * 512)
        source = VolumeSource(VolumeSourceKind.VOLUME, id=volume.id)
        other = self.placed(other, self.made(world, other, source))
        world.put(volume, PIECE, b"two" * 512)
        backend.delete(volume)
        assert world.bytes_of(other, PIECE, 3) == b"one"

    def test_what_is_not_there_cannot_be_a_source(self, world: PoolWorld, backend: VolumeBackend) -> None:
        for source in (
            VolumeSource(VolumeSourceKind.VOLUME, id=str(uuid.uuid4())),
            VolumeSource(VolumeSourceKind.SNAPSHOT, id=str(uuid.uuid4()), volume_id=str(uuid.uuid4())),
        ):
            with pytest.raises(VolumeBackendError):
                self.made(world, self.volume(world), source)
        assert backend.held() == ((), ())

    def test_a_volume_grows_and_never_shrinks(self, world: PoolWorld, backend: VolumeBackend) -> None:
        volume = self.volume(world)
        volume = self.placed(volume, self.made(world, volume))
        world.put(volume, 0, b"stays" * 100)
        larger = replace(volume, size_gib=3)
        for spec in (larger, larger, volume):
            assert backend.extend(spec).size_bytes == 3 * GIB
        assert world.bytes_of(larger, 0, 5) == b"stays"
        assert world.bytes_of(larger, 3 * GIB - 1024, 512) == bytes(512)

    def test_a_revert_does_not_shrink_what_has_grown(self, world: PoolWorld, backend: VolumeBackend) -> None:
        volume, snapshot = self.volume(world), str(uuid.uuid4())
        volume = self.placed(volume, self.made(world, volume))
        backend.snapshot_create(volume, snapshot, nobody)
        larger = replace(volume, size_gib=2)
        backend.extend(larger)
        assert backend.revert(larger, snapshot, nobody).size_bytes == 2 * GIB

    def test_nothing_is_left_of_what_is_removed(self, world: PoolWorld, backend: VolumeBackend) -> None:
        volume = self.volume(world)
        volume = self.placed(volume, self.made(world, volume))
        backend.delete(volume)
        backend.delete(volume)
        assert world.again().held() == ((), ())
        with pytest.raises(VolumeBackendError):
            backend.connect(volume)

    def test_what_differs_between_two_snapshots_makes_the_later_of_the_earlier(
        self, world: PoolWorld, backend: VolumeBackend
    ) -> None:
        if PoolAbility.INCREMENTAL_BACKUP not in backend.report().abilities:
            pytest.skip("this pool cannot tell")
        volume, first, second = self.volume(world), str(uuid.uuid4()), str(uuid.uuid4())
        volume = self.placed(volume, self.made(world, volume))
        world.put(volume, 0, b"a" * PIECE)
        world.put(volume, 8 * PIECE, b"b" * PIECE)
        backend.snapshot_create(volume, first, nobody)
        world.put(volume, 8 * PIECE, bytes(PIECE))
        world.put(volume, 20 * PIECE, b"c" * PIECE)
        backend.snapshot_create(volume, second, nobody)
        difference = list(backend.read(volume, second, since_snapshot_id=first))
        assert sum(len(piece) for _, piece in difference) < 10 * PIECE

        restored = self.volume(world)
        backup = VolumeSource(VolumeSourceKind.BACKUP, id=str(uuid.uuid4()))
        restored = self.placed(restored, self.made(world, restored, backup))
        backend.write(restored, backend.read(volume, first))
        assert world.bytes_of(restored, 8 * PIECE, 4) == b"bbbb"
        backend.write(restored, iter(difference))
        for offset, expected in ((0, b"aaaa"), (8 * PIECE, bytes(4)), (20 * PIECE, b"cccc")):
            assert world.bytes_of(restored, offset, 4) == expected

    def test_a_volume_that_nobody_has_is_read_as_it_is_and_becomes_another(
        self, world: PoolWorld, backend: VolumeBackend
    ) -> None:
        volume = self.volume(world)
        volume = self.placed(volume, self.made(world, volume))
        world.put(volume, 4 * PIECE, b"a" * PIECE)
        backend.snapshot_create(volume, str(uuid.uuid4()), nobody)
        world.put(volume, 9 * PIECE, b"b" * PIECE)
        copy = self.volume(world)
        copy = self.placed(copy, self.made(world, copy, VolumeSource(VolumeSourceKind.BACKUP)))
        world.put(copy, 0, b"of an attempt that was cut off".ljust(512))
        backend.write(copy, backend.read(volume, ""), is_over_nothing=True)
        for offset, expected in ((0, bytes(4)), (4 * PIECE, b"aaaa"), (9 * PIECE, b"bbbb")):
            assert world.bytes_of(copy, offset, 4) == expected
        assert world.bytes_of(volume, 9 * PIECE, 4) == b"bbbb"
        with pytest.raises(VolumeBackendError):
            list(backend.read(self.volume(world), ""))

    def test_what_is_written_over_nothing_is_all_that_the_volume_has(
        self, world: PoolWorld, backend: VolumeBackend
    ) -> None:
        volume, snapshot = self.volume(world), str(uuid.uuid4())
        volume = self.placed(volume, self.made(world, volume))
        world.put(volume, 0, b"a" * PIECE)
        world.put(volume, 20 * PIECE, b"b" * PIECE)
        backend.snapshot_create(volume, snapshot, nobody)
        backend.write(volume, iter([(4 * PIECE, b"c" * PIECE)]), is_over_nothing=True)
        for offset, expected in ((0, bytes(4)), (4 * PIECE, b"cccc"), (20 * PIECE, bytes(4))):
            assert world.bytes_of(volume, offset, 4) == expected
        assert backend.extend(volume).size_bytes == GIB
        kept = b"".join(piece for _, piece in backend.read(volume, snapshot))
        assert (kept.count(b"a"), kept.count(b"b"), kept.count(b"c")) == (PIECE, PIECE, 0)

    @pytest.mark.long  # QEMU measures the machine for two seconds before it writes a header of LUKS
    @pytest.mark.processes
    def test_encrypted_volumes_are_copied_extended_and_restored_under_their_key(
        self, world: PoolWorld, backend: VolumeBackend, image: Path
    ) -> None:
        if PoolAbility.ENCRYPT not in backend.report().abilities:
            pytest.skip("this pool does not encrypt")
        volume = self.volume(world, is_encrypted=True)
        facts = self.made(world, volume, self.image_source(image), image_file=lambda: image)
        volume = self.placed(volume, facts)
        assert facts.size_bytes == GIB
        assert world.bytes_of(volume, 0, 5) == b"image"
        snapshot = str(uuid.uuid4())
        backend.snapshot_create(volume, snapshot, nobody)
        stored = b"".join(piece for _, piece in backend.read(volume, snapshot))
        assert stored.startswith(b"LUKS")
        assert b"later" not in stored

        larger = replace(volume, size_gib=2)
        assert backend.extend(larger).size_bytes == 2 * GIB
        assert world.bytes_of(larger, 5 * 2**20, 5) == b"later"

        clone = self.volume(world, 2, is_encrypted=True)
        source = VolumeSource(VolumeSourceKind.SNAPSHOT, id=snapshot, volume_id=volume.id, is_encrypted=True)
        world.keys[clone.id] = b"another one"
        with pytest.raises(VolumeBackendError):
            self.made(world, clone, source)
        world.keys[clone.id] = PASSPHRASE
        facts = self.made(world, clone, source)
        assert facts.size_bytes == 2 * GIB
        assert world.bytes_of(self.placed(clone, facts), 0, 5) == b"image"

        in_clear = self.volume(world)
        in_clear = self.placed(in_clear, self.made(world, in_clear, source))
        assert world.bytes_of(in_clear, 5 * 2**20, 5) == b"later"

        restored = self.volume(world, is_encrypted=True)
        backup = VolumeSource(VolumeSourceKind.BACKUP, id=str(uuid.uuid4()), is_encrypted=True)
        restored = self.placed(restored, self.made(world, restored, backup))
        backend.write(restored, backend.read(volume, snapshot))
        assert world.bytes_of(restored, 5 * 2**20, 5) == b"later"

    def test_a_pool_that_is_gone_says_so_and_is_not_taken_for_an_empty_one(
        self, world: PoolWorld, backend: VolumeBackend
    ) -> None:
        volume = self.volume(world)
        volume = self.placed(volume, self.made(world, volume))
        world.lose()
        assert world.backend.report().problem
        for asked in (
            world.backend.held,
            lambda: world.backend.delete(volume),
            lambda: world.backend.connect(volume),
            lambda: self.made(world, self.volume(world)),
        ):
            with pytest.raises(VolumeBackendError):
                asked()

    def test_a_guest_gets_the_volume_where_its_report_says(self, world: PoolWorld, backend: VolumeBackend) -> None:
        volume = self.volume(world)
        volume = self.placed(volume, self.made(world, volume))
        first, second = backend.connect(volume), world.again().connect(volume)
        assert first == second
        assert first.kind is world.kind
        backend.disconnect(volume)
        backend.disconnect(volume)
        backend.delete(volume)


def qemu_io(options: list[str], *commands: str, passphrase: bytes = b"") -> str:
    """What QEMU says to these commands on the disk that `options` open; `{key}` in them is the passphrase's file."""
    with pipe_of(passphrase) as key:
        command = ["qemu-io", *(each.format(key=f"/dev/fd/{key}") for each in options)]
        for each in commands:
            command += ["-c", each]
        done = subprocess.run(command, pass_fds=[key], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def qemu_read(options: list[str], offset: int, count: int, *, passphrase: bytes = b"") -> bytes:
    """At most 512 bytes of a disk as a guest would read them."""
    begin = offset - offset % 512
    said = qemu_io([*options, "-r"], f"read -v {begin} 1024", passphrase=passphrase)
    lines = re.findall(r"^[0-9a-f]{8,}:  ((?:[0-9a-f]{2} )+)", said, re.MULTILINE)
    return bytes.fromhex("".join(lines))[offset - begin :][:count]


def qemu_write(options: list[str], offset: int, content: bytes, directory: Path) -> None:
    """As a guest writes to a disk, and waits until it is there."""
    pattern = directory / "pattern"
    pattern.write_bytes(content)
    whole = -(-len(content) // 512) * 512
    qemu_io(options, f"write -s {pattern} {offset} {whole}", "flush")


@contextmanager
def pipe_of(content: bytes) -> Iterator[int]:
    """A descriptor from which `content` is read."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    try:
        yield reading
    finally:
        os.close(reading)
