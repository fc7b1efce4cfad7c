import errno
import grp
import hashlib
import os
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.image_cache import ImageCache, sha256_of
from computeagent.drivers.libvirt.qemu_img import image_inspect, overlay_create
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import Unavailable

CONTENT = b"an image" * 1000


def header(
    *, magic: bytes = b"QFI\xfb", version: int = 3, backing: int = 0, encryption: int = 0, incompatible: int = 0
) -> bytes:
    start = struct.pack(">4sIQIIQI", magic, version, backing, 0, 16, 2**30, encryption)
    return (start.ljust(72, b"\0") + struct.pack(">Q", incompatible)).ljust(104, b"\0")


def with_content(guest: GuestSpec, content: bytes = CONTENT) -> GuestSpec:
    return replace(guest, image_checksum=f"sha256:{hashlib.sha256(content).hexdigest()}", image_size_bytes=len(content))


@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        (header(backing=104), "backing file"),
        (header(incompatible=4), "data in another file"),
        (header(encryption=1), "encrypted"),
        (header(version=9), "version 9"),
        (header(magic=b"KDMV"), "is vmdk, not qcow2"),
        (header()[:76], "cut off"),
        (b"", "empty"),
    ],
)
def test_hostile_qcow2_is_the_users_fault_before_any_tool_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: bytes, reason: str
) -> None:
    (tmp_path / "image").write_bytes(hostile)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DriverError, match=reason) as caught:
        image_inspect(tmp_path / "image", "qcow2")
    assert caught.value.failure_class is FailureClass.USER


def test_qcow2_that_is_called_raw_is_the_users_fault(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(header(backing=104))

    with pytest.raises(DriverError, match="is qcow2, not raw") as caught:
        image_inspect(tmp_path / "image", "raw")
    assert caught.value.failure_class is FailureClass.USER


def test_raw_image_is_as_large_as_its_file(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(CONTENT)

    assert image_inspect(tmp_path / "image", "raw").virtual_size_bytes == len(CONTENT)


@pytest.mark.parametrize("disk_format", ["vmdk", "iso", "", "qcow2,backing.file=/etc/shadow"])
def test_other_disk_format_is_the_users_fault(tmp_path: Path, disk_format: str) -> None:
    (tmp_path / "image").write_bytes(CONTENT)

    with pytest.raises(DriverError, match="not supported") as caught:
        image_inspect(tmp_path / "image", disk_format)
    assert caught.value.failure_class is FailureClass.USER


def test_without_limits_no_image_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "image").write_bytes(header().ljust(2**16, b"\0"))
    (tmp_path / "qemu-img").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DriverError, match="prlimit is not installed") as caught:
        image_inspect(tmp_path / "image", "qcow2")
    assert caught.value.failure_class is FailureClass.HOST


def test_overlay_is_made_under_limits_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qemu-img").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DriverError, match="prlimit is not installed"):
        overlay_create(tmp_path / "disk", tmp_path / "image", "raw", size_gib=1)


def test_base_image_is_read_only_and_not_for_everybody_where_qemu_has_its_own_group(
    guest_spec: GuestSpec, tmp_path: Path
) -> None:
    path = ImageCache(tmp_path).ensure(with_content(guest_spec), lambda: iter([CONTENT]))

    has_group = os.geteuid() == 0 and any(group.gr_name == "libvirt-qemu" for group in grp.getgrall())
    assert path.stat().st_mode & 0o777 == (0o440 if has_group else 0o444)


@pytest.mark.parametrize("prefix", ["", "sha256:"])
def test_checksum_is_read_with_and_without_prefix(guest_spec: GuestSpec, prefix: str) -> None:
    assert sha256_of(replace(guest_spec, image_checksum=prefix + "AB" * 32)) == "ab" * 32


@pytest.mark.parametrize("checksum", ["", "md5:" + "a" * 32, "a" * 63, "../" + "a" * 61, "sha256:" + "a" * 64 + "\n"])
def test_image_without_usable_checksum_is_refused(guest_spec: GuestSpec, checksum: str) -> None:
    with pytest.raises(DriverError, match="no SHA-256 checksum"):
        sha256_of(replace(guest_spec, image_checksum=checksum))


def test_image_is_fetched_once(guest_spec: GuestSpec, tmp_path: Path) -> None:
    cache, guest, calls = ImageCache(tmp_path), with_content(guest_spec), []

    def source() -> Iterator[bytes]:
        calls.append(1)
        yield CONTENT

    assert cache.ensure(guest, source).read_bytes() == CONTENT
    assert cache.ensure(guest, source).read_bytes() == CONTENT
    assert len(calls) == 1


@pytest.mark.parametrize("arrived", [b"", CONTENT[:-1], CONTENT + b"x", b"x" * len(CONTENT)])
def test_bytes_that_do_not_match_leave_nothing(guest_spec: GuestSpec, tmp_path: Path, arrived: bytes) -> None:
    cache, guest = ImageCache(tmp_path), with_content(guest_spec)

    with pytest.raises(DriverError, match="does not match its checksum") as caught:
        cache.ensure(guest, lambda: iter([arrived]))

    assert caught.value.failure_class is FailureClass.NETWORK
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_failed_fetch_is_repeated_by_the_next_build(guest_spec: GuestSpec, tmp_path: Path) -> None:
    cache, guest = ImageCache(tmp_path), with_content(guest_spec)
    with pytest.raises(DriverError):
        cache.ensure(guest, lambda: iter([b"torn"]))

    assert cache.ensure(guest, lambda: iter([CONTENT])).read_bytes() == CONTENT


def test_left_over_part_of_a_killed_build_is_removed(guest_spec: GuestSpec, tmp_path: Path) -> None:
    cache, guest = ImageCache(tmp_path), with_content(guest_spec)
    cache.path(guest).with_suffix(".999999.part").write_bytes(b"half")

    cache.ensure(guest, lambda: iter([CONTENT]))

    assert list(tmp_path.glob("*.part")) == []


class CutSource:
    """An image that is cut off after so many bytes the first time, as when the control plane goes away."""

    def __init__(self, cut_after: int, content: bytes = CONTENT) -> None:
        self.asked: list[int] = []
        self._cut_after = cut_after
        self._content = content

    def __call__(self, offset: int = 0) -> Iterator[bytes]:
        self.asked.append(offset)
        is_cut = len(self.asked) == 1
        yield from pieces(self._content[offset : self._cut_after if is_cut else None])
        if is_cut:
            raise Unavailable("the control plane does not answer")


def pieces(content: bytes) -> Iterator[bytes]:
    return (content[n : n + 100] for n in range(0, len(content), 100))


def test_fetch_that_was_cut_off_goes_on_where_it_was(guest_spec: GuestSpec, tmp_path: Path) -> None:
    guest, source = with_content(guest_spec), CutSource(300)
    with pytest.raises(Unavailable):
        ImageCache(tmp_path).ensure(guest, source)
    assert ImageCache(tmp_path).ensure(guest, source).read_bytes() == CONTENT
    assert source.asked == [0, 300]
    assert list(tmp_path.glob("*.part")) == []


def test_fetch_goes_on_after_the_agent_was_killed(guest_spec: GuestSpec, tmp_path: Path) -> None:
    cache, guest, source = ImageCache(tmp_path), with_content(guest_spec), CutSource(0)
    source.asked.append(0)
    part = cache.path(guest).with_suffix(".part")
    part.write_bytes(CONTENT[:700])
    part.chmod(0o440)
    assert cache.ensure(guest, source).read_bytes() == CONTENT
    assert source.asked == [0, 700]


def test_what_was_whole_before_a_kill_is_asked_for_no_more(guest_spec: GuestSpec, tmp_path: Path) -> None:
    cache, guest, source = ImageCache(tmp_path), with_content(guest_spec), CutSource(0)
    cache.path(guest).with_suffix(".part").write_bytes(CONTENT)
    assert cache.ensure(guest, source).read_bytes() == CONTENT
    assert source.asked == []


@pytest.mark.parametrize("left", [b"x" * 300, b"x" * len(CONTENT), CONTENT + b"more"])
def test_what_a_loss_of_power_left_wrong_is_fetched_whole(guest_spec: GuestSpec, tmp_path: Path, left: bytes) -> None:
    cache, guest = ImageCache(tmp_path), with_content(guest_spec)
    cache.path(guest).with_suffix(".part").write_bytes(left)
    asked: list[int] = []

    def source(offset: int = 0) -> Iterator[bytes]:
        asked.append(offset)
        return pieces(CONTENT[offset:])

    assert cache.ensure(guest, source).read_bytes() == CONTENT
    assert asked[-1] == 0


def test_control_plane_that_stays_away_has_nothing_read_back(guest_spec: GuestSpec, tmp_path: Path) -> None:
    """Who asks again every ten seconds for an hour does not read the same gigabytes each time."""
    cache, guest = ImageCache(tmp_path), with_content(guest_spec)
    part = cache.path(guest).with_suffix(".part")
    part.write_bytes(CONTENT[:300])
    read_at = part.stat().st_atime_ns
    os.utime(part, ns=(read_at - 10**12, part.stat().st_mtime_ns))
    before = part.stat().st_atime_ns

    def away(offset: int = 0) -> Iterator[bytes]:
        raise Unavailable("the control plane does not answer")
        yield b""

    with pytest.raises(Unavailable):
        cache.ensure(guest, away)
    assert part.stat().st_atime_ns == before
    assert part.read_bytes() == CONTENT[:300]


def test_part_that_fits_on_no_disk_is_not_kept(guest_spec: GuestSpec, tmp_path: Path) -> None:
    def source(offset: int = 0) -> Iterator[bytes]:
        yield CONTENT[:300]
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DriverError, match="No space left"):
        ImageCache(tmp_path).ensure(with_content(guest_spec), source)
    assert list(tmp_path.glob("*.part")) == []


def test_concurrent_builds_fetch_the_image_once(guest_spec: GuestSpec, tmp_path: Path) -> None:
    guest, calls, start = with_content(guest_spec), [], threading.Barrier(8)

    def source() -> Iterator[bytes]:
        calls.append(1)
        yield from (CONTENT[n : n + 100] for n in range(0, len(CONTENT), 100))

    def build() -> None:
        start.wait()
        ImageCache(tmp_path).ensure(guest, source)

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(calls) == 1
