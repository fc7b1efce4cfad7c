"""Images that were cut off, told by their tables alone."""

import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

from servers.images.inspection.qcow2_tables import qcow2_missing_clusters
from tests.fixtures.disk_images import converted

MIB = 2**20
LAYOUTS = {
    "as qemu-img makes them": ("", False),
    "compressed": ("", True),
    "compressed in small clusters": ("cluster_size=4k", True),
    "small clusters": ("cluster_size=512", False),
    "large clusters": ("cluster_size=2M", False),
    "version 2": ("compat=0.10", False),
    "subclusters": ("extended_l2=on,cluster_size=128k", False),
    "allocated before": ("preallocation=metadata", False),
}


@pytest.fixture(scope="module")
def raw() -> bytes:
    """A disk of some data, a part of which can be compressed, and holes."""
    part = b"".join(os.urandom(3000) + bytes(1096) for _ in range(MIB // 4096))
    return b"".join(part + bytes(2 * MIB) for _ in range(6))


def missing(data: bytes) -> int:
    def read_at(offset: int, size: int) -> bytes:
        assert 0 <= offset < offset + size <= len(data)
        return data[offset : offset + size]

    return qcow2_missing_clusters(read_at, len(data), go_on=lambda: None)


def qemu_img_finds(path: Path) -> int:
    command = ["qemu-img", "check", "--output=json", "-f", "qcow2", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return int(json.loads(done.stdout).get("corruptions", 0))


@pytest.mark.parametrize(("options", "is_compressed"), LAYOUTS.values(), ids=LAYOUTS)
def test_image_that_was_cut_is_told_from_a_whole_one_where_qemu_img_tells_it(
    raw: bytes, options: str, is_compressed: bool, tmp_path: Path
) -> None:
    data, cut = converted(raw, "qcow2", options=options, is_compressed=is_compressed), tmp_path / "cut"
    assert missing(data) == 0
    for part in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        cut.write_bytes(data[: int(len(data) * part)])
        assert bool(missing(cut.read_bytes())) == bool(qemu_img_finds(cut)), part
    assert missing(data[: len(data) // 2]) > 0


@pytest.mark.parametrize(
    ("at", "kind", "value"), [(36, ">I", 2**31), (40, ">Q", 2**60), (48, ">Q", 2**60), (56, ">I", 2**31)]
)
def test_tables_that_cannot_be_are_missing_and_nothing_is_read_of_them(
    raw: bytes, at: int, kind: str, value: int
) -> None:
    data = bytearray(converted(raw, "qcow2"))
    struct.pack_into(kind, data, at, value)
    assert missing(bytes(data)) == 1


def test_looking_ends_when_it_is_told_to(raw: bytes) -> None:
    data, reads = converted(raw, "qcow2", options="cluster_size=512"), [0]

    def read_at(offset: int, size: int) -> bytes:
        reads[0] += 1
        return data[offset : offset + size]

    def go_on() -> None:
        if reads[0] > 2:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        qcow2_missing_clusters(read_at, len(data), go_on=go_on)
    assert reads == [3]
