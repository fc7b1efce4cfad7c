"""The demo image's parts, without booting it."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

from controlplane.launcher.demo_image.build import demo_image_build
from controlplane.launcher.demo_image.cpio import CpioArchive
from controlplane.launcher.demo_image.initramfs import guest_file
from controlplane.launcher.demo_image.sources import SSH_PROGRAMS, DemoImageUnavailable, depends_of, libraries_of

MIB = 1024 * 1024


def test_archive_is_read_back_by_cpio(tmp_path: Path) -> None:
    archive = CpioArchive()
    archive.directory("bin")
    archive.file("bin/tool", b"#!/bin/sh\n", executable=True)
    busybox = ["/bin/busybox", "cpio", "-i"]
    subprocess.run(busybox, input=gzip.decompress(archive.compressed()), cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "bin/tool").read_bytes() == b"#!/bin/sh\n"
    assert os.access(tmp_path / "bin/tool", os.X_OK)


def test_dependencies_come_from_the_module_itself() -> None:
    assert depends_of(b"junk\0depends=virtio-ring,virtio\0name=x\0") == ("virtio_ring", "virtio")
    assert depends_of(b"junk\0depends=\0name=x\0") == ()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("name", 'web "one"'),
        ("uuid", "1234"),
        ("launch_index", "7"),
        ("last", "true"),
        ("keys", '[{"name": "inner"}]'),
        ("absent", ""),
        ("title", "Zürich 网页 🚀!"),
        ("*", '1234\nweb "one"\nZürich 网页 🚀!'),
    ],
)
def test_guest_reads_outermost_keys_of_its_metadata(tmp_path: Path, key: str, expected: str) -> None:
    meta_data = {"keys": [{"name": "inner"}], "uuid": "1234", "launch_index": 7, "name": 'web "one"', "last": True}
    meta_data |= {"title": "Zürich 网页 🚀!"}
    (tmp_path / "meta.json").write_text(json.dumps(meta_data))
    (tmp_path / "json.awk").write_bytes(guest_file("json.awk"))
    done = subprocess.run(
        ["/bin/busybox", "awk", "-v", f"key={key}", "-f", "json.awk", "meta.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == expected


def test_libraries_of_the_ssh_server_are_named_with_their_loader() -> None:
    found = libraries_of(*SSH_PROGRAMS)
    assert {path.name for path in found} >= {"ld-linux-x86-64.so.2", "libc.so.6"}
    assert all(path.is_absolute() and path.exists() for path in found)
    with pytest.raises(DemoImageUnavailable, match="not a dynamic executable"):
        libraries_of(Path(__file__))


def test_image_is_a_small_qcow2_built_once(tmp_path: Path) -> None:
    first = demo_image_build(tmp_path)
    made_at = first.stat().st_mtime_ns
    assert first.read_bytes()[:4] == b"QFI\xfb"
    assert 10 * MIB < first.stat().st_size < 20 * MIB
    assert demo_image_build(tmp_path) == first
    assert first.stat().st_mtime_ns == made_at


@pytest.mark.long
def test_equal_inputs_give_equal_images(tmp_path: Path) -> None:
    first = demo_image_build(tmp_path / "one")
    (tmp_path / "two").mkdir()
    for package in (tmp_path / "one").glob("*.deb"):
        (tmp_path / "two" / package.name).write_bytes(package.read_bytes())
    second = demo_image_build(tmp_path / "two")
    assert first.read_bytes() == second.read_bytes()
