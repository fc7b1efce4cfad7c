"""What a disk image that somebody uploaded is, before any other program opens it.

A disk image is hostile input: several formats can name other files (a backing file, a data file, extents), and whoever
opened them would read those files for the guest. So its format is detected from its bytes by oslo.utils' inspector,
which Nova, Cinder and Glance use as well; it must be the one that the image says; and a qcow2 must name no other
file. Both the control plane and the hypervisors inspect it, since either may be older than the image.
"""

import io
import struct
from typing import Any, BinaryIO, Final

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

QCOW2: Final = "qcow2"
RAW: Final = "raw"
BOOT_FILES: Final = frozenset({"aki", "ari"})
"""A kernel and its initial RAM disk: no program of a host reads what is in them, so nothing in them is inspected."""
CHUNK_BYTES = 64 * 1024
INSPECTED_MAX_BYTES = 4 * 1024 * 1024
"""Every inspector has decided long before, but for one of VMDK that wants to see the end of the file."""

VIRTUAL_SIZE_MAX_BYTES = 2**56
_SECTOR_BYTES = 512
# The fixed fields of a qcow2 header: https://www.qemu.org/docs/master/interop/qcow2.html
_QCOW2 = struct.Struct(">4sIQIIQI")
_QCOW2_FEATURES = struct.Struct(">Q")
_QCOW2_FEATURES_AT = 72
_QCOW2_HEADER_BYTES = {2: 72, 3: 104}
_CORRUPT = 1 << 1
# Those that the inspector passes over, and that QEMU would take for another format.
_OTHER_MAGICS: Final = ((b"COWD", "vmdk"), (b"# Disk DescriptorFile", "vmdk"))
FOREIGN: Final = {"vmdk": "VMDKInspector", "vdi": "VDIInspector", "vhd": "VHDInspector", "vhdx": "VHDXInspector"}
"""Formats that are converted into qcow2 before any host sees them, with the inspector of each."""
_REFUSALS: Final = {
    "backing_file": _("The qcow2 image names a backing file; only images that stand alone are taken."),
    "data_file": _("The qcow2 image keeps its data in another file."),
}


def disk_image_size(file: BinaryIO, *, declared: str, file_bytes: int) -> int:
    """The size in bytes of the disk that a guest would see. Raises Invalid that says why the image is not taken."""
    if file_bytes == 0:
        raise Invalid(_("The file is empty."), field="file")
    if declared in BOOT_FILES:
        return file_bytes
    head = file.read(INSPECTED_MAX_BYTES)
    found = disk_format_detected(head)
    if found != declared:
        raise Invalid(
            _("The file is {found}, not {declared} as the image says.", found=found, declared=declared[:40]),
            field="disk_format",
            found=found,
        )
    if declared == RAW:
        return file_bytes
    if declared != QCOW2:
        raise Invalid(
            _("Disk format {declared} is not supported; qcow2 and raw are.", declared=declared[:40]),
            field="disk_format",
        )
    if refusal := _qcow2_refusal(head):
        raise Invalid(refusal, field="file")
    return int(_QCOW2.unpack_from(head)[5])


def foreign_image_check(file: BinaryIO, *, declared: str) -> int:
    """Inspect the beginning, or the whole, of an image that will be converted. Returns the size in bytes of its disk as
    far as it can be told, else 0.

    Raises Invalid for another format than is declared, and for a VMDK that is not one file.
    """
    head = file.read(INSPECTED_MAX_BYTES)
    found = disk_format_detected(head)
    if found != declared:
        raise Invalid(
            _("The file is {found}, not {declared} as the image says.", found=found, declared=declared[:40]),
            field="disk_format",
            found=found,
        )
    format_inspector = _format_inspector()
    inspector = getattr(format_inspector, FOREIGN[declared])()
    try:
        inspector.eat_chunk(head)
        if isinstance(inspector, format_inspector.VMDKInspector):
            inspector.check_descriptor()
            if "parentfilenamehint" in (inspector.desc_text or ""):
                raise format_inspector.SafetyViolation("It holds what differs from another image.")
        return int(inspector.virtual_size)
    except Exception as error:  # see above: what an inspector stumbles over is not harmless
        raise Invalid(
            _("The {declared} image is not taken: it must be one file that names no other.", declared=declared),
            field="file",
        ) from error


def disk_format_detected(head: bytes) -> str:
    """The format that the first bytes of a file name; raw where they name none, several joined by `+`.

    A partition table (gpt to the inspector, which reads its boot sector) is what a raw disk begins with: it names no
    file, and what is odd in it is the guest's own business.
    """
    # A whole sector, since inspectors take nothing for a header that is shorter.
    wrapper = _format_inspector().InspectWrapper(io.BytesIO(head.ljust(_SECTOR_BYTES, b"\0")))
    try:
        while wrapper.formats is None and wrapper.read(CHUNK_BYTES):
            pass
        wrapper.close()
        found = {inspector.NAME for inspector in wrapper.formats or ()}
    except Exception as error:  # an inspector that stumbles over the bytes has not found them harmless
        raise Invalid(_("The file cannot be inspected: {error}", error=error), field="file") from error
    found |= {name for magic, name in _OTHER_MAGICS if head.startswith(magic)}
    if found == {"gpt"}:
        return RAW
    return "+".join(sorted(found - {RAW})) or RAW


def _format_inspector() -> Any:
    # Imported by whoever inspects an image: what comes with it takes an eighth of the time in which a process starts.
    from oslo_utils.imageutils import format_inspector  # noqa: PLC0415

    return format_inspector


def _qcow2_refusal(head: bytes) -> str:
    """Why this image must not reach a host; empty when it may. The inspector's checks, and those it does not have."""
    if len(head) < _QCOW2_HEADER_BYTES[2]:
        return _("The file is not a qcow2 image: its header is cut off.")
    _rest, version, _rest, _rest, cluster_bits, size, encryption = _QCOW2.unpack_from(head)
    if version not in _QCOW2_HEADER_BYTES:
        return _("qcow2 version {version} is not supported; 2 and 3 are.", version=version)
    if len(head) < _QCOW2_HEADER_BYTES[version]:
        return _("The file is not a qcow2 image: its header is cut off.")
    features = _QCOW2_FEATURES.unpack_from(head, _QCOW2_FEATURES_AT)[0] if version == 3 else 0
    format_inspector = _format_inspector()
    inspector = format_inspector.QcowInspector()
    inspector.eat_chunk(head[:_SECTOR_BYTES].ljust(_SECTOR_BYTES, b"\0"))
    try:
        inspector.safety_check()
    except format_inspector.SafetyCheckFailed as failed:
        names = [name for name in _REFUSALS if name in failed.failures]
        return (
            _REFUSALS[names[0]]
            if names
            else _("The qcow2 image needs features that are not known here ({features:#x}).", features=features)
        )
    refusals = (
        (features & _CORRUPT, _("The qcow2 image is marked as corrupt.")),
        (encryption != 0, _("The qcow2 image is encrypted.")),
        (
            not 9 <= cluster_bits <= 21,
            _(
                "The qcow2 image has clusters of 2^{cluster_bits} bytes; 9 to 21 are allowed.",
                cluster_bits=cluster_bits,
            ),
        ),
        (not 0 < size <= VIRTUAL_SIZE_MAX_BYTES, _("The qcow2 image has a disk of {size} bytes.", size=size)),
    )
    return next((reason for is_refused, reason in refusals if is_refused), "")
