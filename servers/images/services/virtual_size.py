"""How large the disk is that an image holds, whether so large a one is taken, and whether all of it is there."""

import io
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from controlplane.kernel.disk_images import disk_image_size, foreign_image_check
from controlplane.kernel.errors import Invalid, TooLarge
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.images.domain.images import NATIVE, DiskFormat
from servers.images.inspection.qcow2_tables import qcow2_missing_clusters
from servers.images.inspection.qemu_img import (
    INFO_TIMEOUT_S,
    damaged,
    disk_size_seen,
    is_qemu_img_there,
    qcow2_whole_check,
)
from servers.images.stores.store import BytesName, ByteStore

log = logging.getLogger(__name__)


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


def stored_whole_check(disk_format: DiskFormat, store: ByteStore, name: BytesName, size_bytes: int) -> None:
    """Raises Invalid for a qcow2 of which parts are missing, told by its tables in the store, where qemu-img could not
    look through it before. One that is too large to be looked through in time is taken, as by qemu-img. Unavailable.
    """
    if disk_format != DiskFormat.QCOW2 or (is_qemu_img_there() and store.path(name) is not None):
        return
    until = time.monotonic() + INFO_TIMEOUT_S

    def go_on() -> None:
        if time.monotonic() > until:
            raise TimeoutError

    try:
        missing = qcow2_missing_clusters(partial(store.read_at, name), size_bytes, go_on=go_on)
    except TimeoutError:
        log.warning("the tables of %s are not read in time: whether it is whole is not known", name)
        return
    if missing:
        raise damaged(missing)


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
