"""How large the disk is that an image holds, and whether so large a one is taken."""

import io
from collections.abc import Callable
from pathlib import Path

from controlplane.kernel.disk_images import disk_image_size, foreign_image_check
from controlplane.kernel.errors import Invalid, TooLarge
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.images.domain.images import NATIVE, DiskFormat
from servers.images.inspection.qemu_img import disk_size_seen, is_qemu_img_there, qcow2_whole_check


def virtual_size_verified(
    disk_format: DiskFormat, head: bytes, *, size_bytes: int, path: Callable[[], Path | None]
) -> int:
    """The size in bytes of the disk in these bytes, by their beginning and by what qemu-img sees of `path`. Raises
    Invalid, TooLarge.
    """
    if disk_format in NATIVE:
        virtual = disk_image_size(io.BytesIO(head), declared=disk_format, file_bytes=size_bytes)
    elif is_qemu_img_there():
        virtual = foreign_image_check(io.BytesIO(head), declared=disk_format)
    else:
        raise Invalid(
            _("{disk_format} images cannot be converted here: qemu-img is not installed.", disk_format=disk_format),
            field="disk_format",
        )
    virtual_size_check(virtual)
    if disk_format == DiskFormat.QCOW2 and is_qemu_img_there() and (file := path()) is not None:
        disk_size_seen(file, disk_format)
        qcow2_whole_check(file)
    return virtual


def virtual_size_check(virtual_size_bytes: int) -> None:
    """Raises TooLarge for a disk that is larger than any may be, however small the file that says so."""
    limit = server_options().image_max_virtual_bytes
    if virtual_size_bytes > limit:
        raise TooLarge(
            _(
                "The image holds a disk of {virtual_size_bytes} bytes; at most {limit} are allowed.",
                virtual_size_bytes=virtual_size_bytes,
                limit=limit,
            ),
            field="file",
            limit=limit,
        )
