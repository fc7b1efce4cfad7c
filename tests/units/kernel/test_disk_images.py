"""Uploaded disk images: what they are, and which of them no host may open."""

import io
import shutil
import struct
import subprocess
from pathlib import Path

import pycdlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.disk_images import disk_format_detected, disk_image_size
from controlplane.kernel.errors import Invalid

MBR_SIGNATURE = b"\x55\xaa"


def qcow2(
    *,
    magic: bytes = b"QFI\xfb",
    version: int = 3,
    backing_at: int = 0,
    cluster_bits: int = 16,
    size: int = 2**30,
    crypt: int = 0,
    features: int = 0,
) -> bytes:
    head = struct.pack(">4sIQIIQI", magic, version, backing_at, 0, cluster_bits, size, crypt)
    return head.ljust(72, b"\0") + struct.pack(">Q", features) + b"\0" * 432


def size_of(content: bytes, *, declared: str = "qcow2") -> int:
    return disk_image_size(io.BytesIO(content), declared=declared, file_bytes=len(content))


@pytest.mark.parametrize("version", [2, 3])
def test_virtual_size_of_qcow2_comes_from_its_header(version: int) -> None:
    assert size_of(qcow2(version=version, size=5 * 2**30)) == 5 * 2**30


def test_version_2_header_may_be_the_whole_file() -> None:
    assert size_of(qcow2(version=2)[:72]) == 2**30


def test_virtual_size_of_raw_is_its_own() -> None:
    assert size_of(b"\0" * 4096, declared="raw") == 4096


@pytest.mark.parametrize(
    ("hostile", "part"),
    [
        (qcow2(backing_at=112), "backing file"),
        (qcow2(backing_at=2**63), "backing file"),
        (qcow2(version=2, backing_at=200), "backing file"),
        (qcow2(features=4), "another file"),
        (qcow2(features=2), "corrupt"),
        (qcow2(features=1 << 40), "not known here"),
        (qcow2(crypt=1), "encrypted"),
        (qcow2(crypt=2), "encrypted"),
        (qcow2(cluster_bits=40), "clusters"),
        (qcow2(size=0), "disk of 0 bytes"),
        (qcow2(size=2**60), "disk of"),
        (qcow2(version=0), "version 0"),
        (qcow2(version=1), "version 1"),
        (qcow2(version=4), "version 4"),
        (qcow2(version=2**31), "version"),
        (qcow2()[:76], "cut off"),
        (qcow2()[:40], "cut off"),
        (qcow2(magic=b"KDMV"), "is vmdk, not qcow2"),
        (b"\0" * 512, "is raw, not qcow2"),
        (b"", "empty"),
    ],
)
def test_dangerous_qcow2_is_refused(hostile: bytes, part: str) -> None:
    with pytest.raises(Invalid, match=part):
        size_of(hostile)


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (qcow2(), "qcow2"),
        (qcow2()[:90], "qcow2"),
        (b"KDMV" + b"\0" * 60, "vmdk"),
        (b"COWD" + b"\0" * 60, "vmdk"),
        (b"# Disk DescriptorFile\nversion=1\n", "vmdk"),
        (b"\0" * 64 + b"\x7f\x10\xda\xbe", "vdi"),
        (b"vhdxfile", "vhdx"),
        (b"conectix", "vhd"),
        (b"QED\0", "qed"),
        (b"LUKS\xba\xbe", "luks"),
        (b"\0" * 0x8001 + b"CD001" + b"\0" * 4096, "iso"),
        (b"\xeb\x63\x90".ljust(510, b"\0") + MBR_SIGNATURE, "raw"),
        (qcow2()[:510] + MBR_SIGNATURE, "gpt+qcow2"),
        (b"\xeb\x63\x90", "raw"),
        (b"", "raw"),
    ],
)
def test_format_is_detected(head: bytes, found: str) -> None:
    assert disk_format_detected(head) == found


@pytest.mark.parametrize(
    ("disk_format", "options", "found"),
    [
        ("qcow2", "", "qcow2"),
        ("vmdk", "subformat=monolithicSparse", "vmdk"),
        ("vmdk", "subformat=streamOptimized", "vmdk"),
        ("vmdk", "subformat=monolithicFlat", "vmdk"),
        ("vmdk", "subformat=twoGbMaxExtentSparse", "vmdk"),
        ("vdi", "", "vdi"),
        ("vpc", "", "vhd"),
        ("vhdx", "", "vhdx"),
        ("qed", "", "qed"),
        ("raw", "", "raw"),
    ],
)
def test_file_that_qemu_makes_is_known_and_does_not_pass_for_raw(
    tmp_path: Path, disk_format: str, options: str, found: str
) -> None:
    if shutil.which("qemu-img") is None:
        pytest.skip("qemu-img is not installed")
    path = tmp_path / "image"
    extra = ["-o", options] if options else []
    subprocess.run(["qemu-img", "create", "-q", "-f", disk_format, *extra, str(path), "8M"], check=True)

    if found == "raw":
        assert size_of(path.read_bytes(), declared="raw") == 8 * 2**20
        return
    with pytest.raises(Invalid, match=f"is {found}, not raw") as refused:
        size_of(path.read_bytes(), declared="raw")
    assert refused.value.field == "disk_format"


def test_vmdk_that_names_a_file_of_the_host_is_refused_as_raw() -> None:
    descriptor = b'# Disk DescriptorFile\ncreateType="monolithicFlat"\nRW 20 FLAT "/etc/shadow" 0\n'

    with pytest.raises(Invalid, match="is vmdk, not raw"):
        size_of(descriptor.ljust(1024, b"\n"), declared="raw")


def test_cd_is_no_raw_disk(tmp_path: Path) -> None:
    disc = pycdlib.PyCdlib()
    disc.new()
    disc.write(str(tmp_path / "cd.iso"))
    disc.close()

    with pytest.raises(Invalid, match="is iso, not raw"):
        size_of((tmp_path / "cd.iso").read_bytes(), declared="raw")


def test_format_that_is_not_supported_is_refused_even_if_it_is_what_the_image_says() -> None:
    with pytest.raises(Invalid, match="not supported"):
        size_of(b"LUKS\xba\xbe", declared="luks")


@given(st.binary(max_size=600))
def test_any_bytes_after_the_magic_are_read_or_refused(rest: bytes) -> None:
    try:
        size = size_of(b"QFI\xfb" + rest)
    except Invalid:
        return
    assert size > 0


@given(st.binary(max_size=2000), st.sampled_from([b"", b"# Disk DescriptorFile\n", b"KDMV\x01\0\0\0", b"vhdxfile"]))
def test_any_bytes_are_raw_or_refused(rest: bytes, start: bytes) -> None:
    content = start + rest
    try:
        size = size_of(content, declared="raw")
    except Invalid:
        return
    assert size == len(content)
