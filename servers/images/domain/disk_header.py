"""What the first bytes of a disk image say. Bytes come from users: nothing in them is followed, only read.

A qcow2 file can name other files (backing file, external data file); a host that opened it would read them for
the guest. Such files are refused, and a "raw" file that is really of another format is refused for the same reason.
Layout: QEMU's docs/interop/qcow2.txt.
"""

import struct
from dataclasses import dataclass

from controlplane.kernel.errors import Invalid
from servers.images.domain.images import DiskFormat

HEADER_BYTES = 512
"""How many bytes from the start the functions here want to see; a shorter file gives what it has."""

QCOW2_MAGIC = b"QFI\xfb"
_QCOW2 = struct.Struct(">4sIQIIQI")
_FEATURES_AT = 72
_V3_HEADER_BYTES = 104
INCOMPATIBLE_CORRUPT = 1 << 1
INCOMPATIBLE_EXTERNAL_DATA = 1 << 2
_KNOWN_FEATURES = 0b11111  # dirty, corrupt, external data, compression type, extended L2
VIRTUAL_SIZE_MAX_BYTES = 2**56

_OTHER_FORMATS: list[tuple[int, bytes, str]] = [
    (0, QCOW2_MAGIC, "qcow2"),
    (0, b"KDMV", "vmdk"),
    (0, b"COWD", "vmdk"),
    (0, b"# Disk DescriptorFile", "vmdk"),
    (0, b"vhdxfile", "vhdx"),
    (0, b"conectix", "vhd"),
    (0, b"QED\x00", "qed"),
    (0, b"LUKS\xba\xbe", "luks"),
    (64, b"\x7f\x10\xda\xbe", "vdi"),
]


@dataclass(frozen=True, slots=True)
class Qcow2Header:
    """The parts of a qcow2 header that matter here."""

    version: int
    backing_file_offset: int
    backing_file_size: int
    cluster_bits: int
    virtual_size_bytes: int
    crypt_method: int
    incompatible_features: int


def detected_format(head: bytes) -> str:
    """The format that the first bytes name; raw when they name none."""
    return next((name for offset, magic, name in _OTHER_FORMATS if head[offset:].startswith(magic)), "raw")


def qcow2_header(head: bytes) -> Qcow2Header:
    """Read the header. Raises Invalid when the bytes are not a whole qcow2 header of version 2 or 3."""
    if len(head) < _FEATURES_AT or not head.startswith(QCOW2_MAGIC):
        raise Invalid("The file is not a qcow2 image: its header is missing or cut off.", field="file")
    _, version, backing_at, backing_size, cluster_bits, size, crypt = _QCOW2.unpack_from(head)
    if version not in (2, 3):
        raise Invalid(f"qcow2 version {version} is not supported; 2 and 3 are.", field="file")
    if version == 3 and len(head) < _V3_HEADER_BYTES:
        raise Invalid("The file is not a qcow2 image: its header is cut off.", field="file")
    features = struct.unpack_from(">Q", head, _FEATURES_AT)[0] if version == 3 else 0
    return Qcow2Header(version, backing_at, backing_size, cluster_bits, size, crypt, features)


def qcow2_refusal(header: Qcow2Header) -> str:
    """Why this image must not reach a host; empty when it may."""
    features = header.incompatible_features
    refusals = (
        (
            header.backing_file_offset != 0,
            "The qcow2 image names a backing file; only images that stand alone are taken.",
        ),
        (features & INCOMPATIBLE_EXTERNAL_DATA, "The qcow2 image keeps its data in another file."),
        (features & INCOMPATIBLE_CORRUPT, "The qcow2 image is marked as corrupt."),
        (features & ~_KNOWN_FEATURES, f"The qcow2 image needs features that are not known here ({features:#x})."),
        (header.crypt_method != 0, "The qcow2 image is encrypted."),
        (
            not 9 <= header.cluster_bits <= 21,
            f"The qcow2 image has clusters of 2^{header.cluster_bits} bytes; 9 to 21 are allowed.",
        ),
        (
            not 0 < header.virtual_size_bytes <= VIRTUAL_SIZE_MAX_BYTES,
            f"The qcow2 image has a disk of {header.virtual_size_bytes} bytes.",
        ),
    )
    return next((reason for is_refused, reason in refusals if is_refused), "")


def virtual_size_of(head: bytes, *, declared: DiskFormat, file_bytes: int) -> int:
    """The size in bytes of the disk that a guest sees. Raises Invalid when the file is not what it is said to be."""
    if file_bytes == 0:
        raise Invalid("The file is empty.", field="file")
    found = detected_format(head)
    if found != declared:
        raise Invalid(f"The file is {found}, not {declared.value} as the image says.", field="disk_format", found=found)
    if declared is DiskFormat.RAW:
        return file_bytes
    header = qcow2_header(head)
    if refusal := qcow2_refusal(header):
        raise Invalid(refusal, field="file")
    return header.virtual_size_bytes
