"""The conversion of an image into qcow2, once, as work: hosts take qcow2 and raw only.

The bytes that were sent are in the store; they are fetched to a directory of this machine, inspected whole, looked
into and converted by qemu-img, locked down, and the result is stored as the image's bytes. Killed anywhere, the next
attempt does all of that again, from the bytes that were sent: those go when the result is in their place.
"""

import contextlib
import io
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from controlplane.kernel.disk_images import foreign_image_check
from controlplane.kernel.errors import Fenced, Invalid, KilonovaError, Unavailable
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from servers.conf import server_options
from servers.images.domain.images import ImageStatus
from servers.images.inspection.qemu_img import disk_size_seen, to_qcow2
from servers.images.services.image_store import READABLE, image_bytes_remove, image_upload
from servers.images.services.image_tasks import TaskProgress, image_task_done, image_task_failed
from servers.images.services.virtual_size import virtual_size_check
from servers.images.stores.chosen import byte_store
from servers.images.stores.store import BytesName
from servers.models import Image

WAITS_S = (5.0, 20.0, 60.0)
STALE_S = 86400.0


def conversion_run(work: Work, lease: WorkLease) -> None:
    """The work of kind `image_convert`; its arguments name the upload and its format."""
    image = Image.objects.filter(pk=work.subject).exclude(status=ImageStatus.DELETED).first()
    if image is None:
        return image_task_failed(lease, _("The image is gone."), is_refused=False)
    for wait_s in (*WAITS_S, None):
        if Image.objects.filter(pk=image.pk, status__in=[one.value for one in READABLE]).exists():
            return image_task_done(lease)  # an attempt before this one got as far
        try:
            _convert(image, work, lease)
        except Fenced:
            raise
        except Unavailable as error:
            if wait_s is None:
                return _given_up(image, lease, error)
            TaskProgress(lease, "waiting").waits(wait_s, _("{message} It is tried again.", message=error.message))
        except KilonovaError as error:
            return _given_up(image, lease, error)
    return None


def _given_up(image: Image, lease: WorkLease, error: KilonovaError) -> None:
    image_task_failed(lease, error.message, is_refused=isinstance(error, Invalid))
    with contextlib.suppress(Unavailable):  # the clean-up does it later
        image_bytes_remove(image.pk)


def _convert(image: Image, work: Work, lease: WorkLease) -> None:
    options, name = server_options(), BytesName(image.pk, uuid.UUID(work.arguments["upload_id"]))
    disk_format = str(work.arguments["disk_format"])
    with _scratch() as directory:
        source, target = directory / "source", directory / "converted.qcow2"
        fetching = TaskProgress(lease, "read")
        with byte_store().open(name) as data, source.open("wb") as file:
            _room_check(directory, data.size_bytes)
            for chunk in data:
                file.write(chunk)
                fetching.reached(file.tell(), data.size_bytes)
        with source.open("rb") as file:
            foreign_image_check(file, declared=disk_format)
        virtual = disk_size_seen(source, disk_format)
        virtual_size_check(virtual)
        converting = TaskProgress(lease, "converted")
        to_qcow2(
            source,
            disk_format,
            target,
            max_bytes=options.image_max_bytes,
            deadline_s=options.image_import_deadline_s,
            progress=lambda part: converting.reached(int(part * virtual), virtual),
        )
        source.unlink()
        storing, size = TaskProgress(lease, "stored"), target.stat().st_size
        with target.open("rb") as file:
            stream = _ShownReading(file, size, storing)
            image_upload(caller=None, image_id=image.pk, stream=stream, declared_bytes=size, task=lease, converted=True)
        image_task_done(lease)


class _ShownReading:
    def __init__(self, file: io.BufferedReader, size: int, progress: TaskProgress) -> None:
        self._file, self._size, self._progress = file, size, progress

    def read(self, size: int, /) -> bytes:
        self._progress.reached(self._file.tell(), self._size)
        return self._file.read(size)


def _room_check(directory: Path, wanted_bytes: int) -> None:
    """The reserve of free space holds here too: other tenants' disks and the database may be on this file system."""
    free = shutil.disk_usage(directory).free - server_options().image_reserve_bytes
    if wanted_bytes > free:
        raise Unavailable(
            _(
                "There is no room to convert the image now: it has {wanted_bytes} bytes, {free} are free.",
                wanted_bytes=wanted_bytes,
                free=max(0, free),
            )
        )


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A directory of this attempt alone; those that a crash left are removed here too, a day later."""
    parent = server_options().image_scratch_dir
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in parent.iterdir():
            if old.stat().st_mtime < time.time() - STALE_S:
                shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=parent) as directory:
            yield Path(directory)
    except OSError as error:
        raise Unavailable(
            _("The image cannot be converted now: {strerror}.", strerror=error.strerror or error)
        ) from error
