import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import Invalid
from servers.images.domain.disk_header import detected_format, qcow2_header, qcow2_refusal, virtual_size_of
from servers.images.domain.image_rules import checksum_reasons, image_problems
from servers.images.domain.images import DiskFormat


def qcow2(*, version=3, backing_at=0, cluster_bits=16, size=2**30, crypt=0, features=0) -> bytes:
    head = struct.pack(">4sIQIIQI", b"QFI\xfb", version, backing_at, 0, cluster_bits, size, crypt)
    return head.ljust(72, b"\0") + struct.pack(">Q", features) + b"\0" * 432


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "\n"),
        ("disk_format", "vmdk"),
        ("container_format", "ova"),
        ("visibility", "community"),
        ("min_disk_gib", -1),
        ("min_ram_mib", "1"),
        ("properties", "x"),
        ("properties", {str(index): "" for index in range(129)}),
        ("expected_sha256", "abc"),
    ],
)
def test_bad_value_is_refused_at_its_field(field, value):
    assert list(image_problems({field: value})) == [field]


def test_own_properties_are_kept():
    assert image_problems({"properties": {"os_distro": "debian", "hw_disk_bus": "virtio", "mine": ""}}) == {}


def test_checksum_in_capitals_is_refused():
    assert checksum_reasons("A" * 64)
    assert checksum_reasons("a" * 64) == []


def test_virtual_size_of_qcow2_comes_from_its_header():
    assert virtual_size_of(qcow2(size=5 * 2**30), declared=DiskFormat.QCOW2, file_bytes=1000) == 5 * 2**30


def test_version_2_header_is_read():
    assert qcow2_header(qcow2(version=2)[:72]).virtual_size_bytes == 2**30


def test_virtual_size_of_raw_is_its_own():
    assert virtual_size_of(b"\0" * 512, declared=DiskFormat.RAW, file_bytes=4096) == 4096


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"backing_at": 112}, "backing file"),
        ({"features": 4}, "another file"),
        ({"features": 2}, "corrupt"),
        ({"features": 1 << 40}, "not known here"),
        ({"crypt": 1}, "encrypted"),
        ({"cluster_bits": 40}, "clusters"),
        ({"size": 0}, "disk of 0 bytes"),
        ({"size": 2**60}, "disk of"),
    ],
)
def test_dangerous_qcow2_is_refused(change, part):
    assert part in qcow2_refusal(qcow2_header(qcow2(**change)))


def test_backing_file_of_version_2_is_refused():
    with pytest.raises(Invalid, match="backing file"):
        virtual_size_of(qcow2(version=2, backing_at=200), declared=DiskFormat.QCOW2, file_bytes=10)


@pytest.mark.parametrize("version", [0, 1, 4, 2**31])
def test_other_qcow2_versions_are_refused(version):
    with pytest.raises(Invalid, match="version"):
        qcow2_header(qcow2(version=version))


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (qcow2(), "qcow2"),
        (b"KDMV" + b"\0" * 60, "vmdk"),
        (b"\0" * 64 + b"\x7f\x10\xda\xbe", "vdi"),
        (b"vhdxfile", "vhdx"),
        (b"LUKS\xba\xbe", "luks"),
        (b"\xeb\x63\x90", "raw"),
        (b"", "raw"),
    ],
)
def test_format_is_detected(head, found):
    assert detected_format(head) == found


def test_qcow2_that_is_called_raw_is_refused():
    with pytest.raises(Invalid, match="is qcow2, not raw") as refused:
        virtual_size_of(qcow2(), declared=DiskFormat.RAW, file_bytes=512)
    assert refused.value.field == "disk_format"


def test_raw_that_is_called_qcow2_is_refused():
    with pytest.raises(Invalid, match="is raw, not qcow2"):
        virtual_size_of(b"\0" * 512, declared=DiskFormat.QCOW2, file_bytes=512)


def test_empty_file_is_refused():
    with pytest.raises(Invalid, match="empty"):
        virtual_size_of(b"", declared=DiskFormat.RAW, file_bytes=0)


@given(st.binary(max_size=600))
def test_any_bytes_after_the_magic_are_read_or_refused(rest):
    try:
        size = virtual_size_of(b"QFI\xfb" + rest, declared=DiskFormat.QCOW2, file_bytes=len(rest) + 4)
    except Invalid:
        return
    assert size > 0
