"""The bytes of images: files under IMAGE_DIR, streamed, never whole in memory.

Each upload has its own id and its own file, `<image>.<upload>.part`, renamed to `<image>.<upload>` when it is whole
and on the disk. The row names the upload that counts, so of two uploads side by side the one that began last wins,
the other finds no row and removes its own file; a crash at any point leaves `saving`, which takes a new upload.
"""

import contextlib
import hashlib
import logging
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from django.db import transaction
from django.db.models.functions import Now

from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.kernel.disk_images import disk_image_size
from controlplane.kernel.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KilonovaError,
    NotFound,
    QuotaExceeded,
    TooLarge,
    Unavailable,
)
from servers.catalog.domain.quota import ImageAmounts
from servers.catalog.services.quota import image_quota_check, quota_lock
from servers.conf import server_options
from servers.fields import refuse_if
from servers.images.domain.image_rules import checksum_reasons
from servers.images.domain.images import UPLOADABLE, ImageStatus
from servers.images.services.image import image_owned
from servers.images.services.image_directory import (
    TRASH,
    image_directory_claim,
    image_directory_is_ours,
    space_check,
    stored_files,
)
from servers.models import Image

log = logging.getLogger(__name__)
CHUNK_BYTES = 1024 * 1024
CHECK_BYTES = 8 * CHUNK_BYTES
"""So often quota and free space are checked while bytes come."""
CHECK_EVERY_S = 60.0
CUT_OFF = "The upload was cut off."
TAKEN_OVER = "The image was deleted, or another upload of it began later."
READABLE = (ImageStatus.ACTIVE, ImageStatus.DEACTIVATED)


class Readable(Protocol):
    """Anything that gives bytes until it gives none."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class BodyCutOff(Invalid):
    """Fewer bytes came than were announced: the sender went away. The image may be sent again."""


@dataclass(frozen=True, slots=True)
class Received:
    """What an upload turned out to be."""

    sha256: str
    size_bytes: int


def image_upload(
    *,
    caller: Caller | None,
    image_id: uuid.UUID,
    stream: Readable,
    declared_bytes: int | None = None,
    expected_sha256: str = "",
) -> Image:
    """Take the bytes and make the image active.

    Raises NotFound, Forbidden; QuotaExceeded; Unavailable below the reserve of free space; Conflict when the image has
    its data or a later upload took over; TooLarge above IMAGE_MAX_BYTES; Invalid when checksum or content are not what
    was said. After the last two the image is `killed` with the reason in `status_reason`; after a body that was cut
    off, or found no room, it is `queued`. Both may be uploaded again.
    """
    image = image_owned(caller=caller, image_id=image_id)
    if expected_sha256:
        refuse_if({"checksum_sha256": checksum_reasons(expected_sha256)})
    limit = server_options().image_max_bytes
    if declared_bytes is not None and declared_bytes > limit:
        raise _too_large(declared_bytes, limit)
    upload_id = _begin(image, declared_bytes or 0)
    part = _path(image_id, upload_id, ".part")
    try:
        received = _receive(stream, part, declared_bytes, _RoomHeld(image, upload_id, declared_bytes or 0))
        facts = _verified(image, received, part, expected_sha256)
        _publish(part, _path(image_id, upload_id))
        _finish(image, upload_id, received.size_bytes, facts)
    except BaseException as error:
        _abandon(image_id, upload_id, error)
        if isinstance(error, OSError):
            raise Unavailable(f"The image store cannot take the file: {error.strerror or error}.") from error
        raise
    _remove_files(image_id, current=upload_id)
    return Image.objects.get(pk=image_id)


def _begin(image: Image, announced_bytes: int) -> uuid.UUID:
    upload_id = uuid.uuid4()
    rows = Image.objects.filter(pk=image.pk, status__in=[status.value for status in UPLOADABLE])
    changes = {"status": ImageStatus.SAVING.value, "upload_id": upload_id, "status_reason": ""}
    with _quota_held(image, announced_bytes, uploads=1):
        if not rows.update(**changes, size_bytes=announced_bytes, updated_at=Now()):
            raise Conflict(f"Image {image.name} has its data already.", field="status")
    return upload_id


@contextlib.contextmanager
def _quota_held(image: Image, size_bytes: int, *, uploads: int) -> Iterator[None]:
    """A transaction that writes what the image takes, under its project's quota lock. Raises QuotaExceeded at its end,
    so that what is wrong with the image itself is said first.
    """
    with transaction.atomic():
        if image.project_id is not None:
            quota_lock(image.project_id)
        yield
        if image.project_id is not None:
            wanted = ImageAmounts(0, size_bytes, uploads)
            image_quota_check(project_id=image.project_id, wanted=wanted, image_id=image.pk)


@dataclass(slots=True)
class _RoomHeld:
    """Keeps an upload within quota and free space while it grows, and its row from looking cut off.

    What was announced is held from the beginning, so only what goes beyond it asks for more.
    """

    image: Image
    upload_id: uuid.UUID
    announced_bytes: int
    next_bytes: int = 0
    next_at_s: float = 0.0

    def grown_to(self, size: int) -> None:
        """Raises QuotaExceeded, Unavailable; Conflict when the image was deleted or a later upload took over."""
        if size < self.next_bytes and time.monotonic() < self.next_at_s:
            return
        self.next_bytes, self.next_at_s = size + CHECK_BYTES, time.monotonic() + CHECK_EVERY_S
        space_check(server_options().image_dir, self.announced_bytes - size)
        held = max(size, self.announced_bytes)
        rows = Image.objects.filter(pk=self.image.pk, upload_id=self.upload_id, status=ImageStatus.SAVING)
        with _quota_held(self.image, held, uploads=1):
            if not rows.update(size_bytes=held, updated_at=Now()):
                raise Conflict(TAKEN_OVER, field="status")


def _receive(stream: Readable, part: Path, declared_bytes: int | None, room: _RoomHeld) -> Received:
    image_directory_claim(part.parent)
    space_check(part.parent, declared_bytes or 0)
    with part.open("wb") as file:
        received = _copy(stream, file.write, room)
        file.flush()
        os.fsync(file.fileno())
    if declared_bytes is not None and received.size_bytes != declared_bytes:
        raise BodyCutOff(f"The body ended after {received.size_bytes} of {declared_bytes} bytes.", field="file")
    return received


class _Write(Protocol):
    def __call__(self, data: bytes, /) -> int: ...


def _copy(stream: Readable, write: _Write, room: _RoomHeld) -> Received:
    digest, size, limit = hashlib.sha256(), 0, server_options().image_max_bytes
    while chunk := _read(stream):
        size += len(chunk)
        if size > limit:
            raise _too_large(size, limit)
        room.grown_to(size)
        digest.update(chunk)
        write(chunk)
    return Received(digest.hexdigest(), size)


def _read(stream: Readable) -> bytes:
    try:
        return stream.read(CHUNK_BYTES)
    except OSError as error:
        raise BodyCutOff("The body could not be read to its end.", field="file") from error


def _too_large(size: int, limit: int) -> TooLarge:
    return TooLarge(f"The image has at least {size} bytes; at most {limit} are taken.", field="file", limit=limit)


def _verified(image: Image, received: Received, part: Path, expected_sha256: str) -> dict[str, str | int]:
    for expected in (expected_sha256, image.expected_sha256):
        if expected and expected != received.sha256:
            raise Invalid(f"The checksum is {received.sha256}, not {expected} as was said.", field="checksum_sha256")
    try:
        with part.open("rb") as file:
            virtual = disk_image_size(file, declared=image.disk_format, file_bytes=received.size_bytes)
    except FileNotFoundError as error:  # a later upload or the deletion removed it
        raise Conflict(TAKEN_OVER, field="status") from error
    return {"checksum_sha256": received.sha256, "virtual_size_bytes": virtual}


def _publish(part: Path, final: Path) -> None:
    try:
        part.replace(final)
    except FileNotFoundError as error:  # a later upload or the deletion removed it
        raise Conflict(TAKEN_OVER, field="status") from error
    _sync_directory(final.parent)


def _finish(image: Image, upload_id: uuid.UUID, size_bytes: int, facts: dict[str, str | int]) -> None:
    rows = Image.objects.filter(pk=image.pk, upload_id=upload_id, status=ImageStatus.SAVING)
    with _quota_held(image, size_bytes, uploads=0):
        if not rows.update(status=ImageStatus.ACTIVE.value, size_bytes=size_bytes, updated_at=Now(), **facts):
            raise Conflict(TAKEN_OVER, field="status")


def _abandon(image_id: uuid.UUID, upload_id: uuid.UUID, error: BaseException) -> None:
    """Remove what was written, and let the row say why. Whatever fails here must not hide `error`."""
    with contextlib.suppress(OSError):
        _path(image_id, upload_id, ".part").unlink(missing_ok=True)
        if isinstance(error, Conflict | QuotaExceeded):
            _path(image_id, upload_id).unlink(missing_ok=True)
    is_refused = isinstance(error, Invalid) and not isinstance(error, BodyCutOff)
    rows = Image.objects.filter(pk=image_id, upload_id=upload_id, status=ImageStatus.SAVING)
    rows.update(
        status=(ImageStatus.KILLED if is_refused else ImageStatus.QUEUED).value,
        size_bytes=0,
        status_reason=error.message[:500] if isinstance(error, KilonovaError) else CUT_OFF,
        updated_at=Now(),
    )


class ImageBytes(Iterator[bytes]):
    """The bytes of an image's file from `offset` on, in pieces. `size_bytes` is how many there are in all."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self._file = file
        self.size_bytes = max(0, os.fstat(file.fileno()).st_size - offset)
        file.seek(offset)

    def __next__(self) -> bytes:
        if not self._file.closed and (chunk := self._file.read(CHUNK_BYTES)):
            return chunk
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Whoever stops before the end closes it."""
        self._file.close()


def image_chunks(image_id: uuid.UUID, *, caller: Caller | None = None, offset: int = 0) -> ImageBytes:
    """The bytes from `offset` on of an image that has some; of a deactivated one for admins and the installation (None)
    only.

    NotFound, Forbidden, Conflict and Unavailable are raised at once, not while reading.
    """
    image = Image.objects.filter(pk=image_id).exclude(status=ImageStatus.DELETED).first()
    if image is None:
        raise NotFound(f"Image {image_id} does not exist.")
    if image.status not in READABLE or image.upload_id is None:
        raise Conflict(f"Image {image.name} is {image.status}; it has no data yet.", status=image.status)
    if image.status == ImageStatus.DEACTIVATED and caller is not None and not caller.is_admin:
        raise Forbidden(f"Image {image.name} is deactivated: only administrators may read it.", status=image.status)
    try:
        file = _path(image_id, image.upload_id).open("rb")
    except OSError as error:
        raise Unavailable(f"The file of image {image.name} cannot be read: {error.strerror}.") from error

    return ImageBytes(file, offset)


def image_delete(*, caller: Caller | None, image_id: uuid.UUID) -> None:
    """Mark it deleted, then remove its files. Raises NotFound, Forbidden; Conflict while it is protected."""
    image = image_owned(caller=caller, image_id=image_id)
    rows = Image.objects.filter(pk=image_id, protected=False).exclude(status=ImageStatus.DELETED)
    with transaction.atomic():
        if not rows.update(status=ImageStatus.DELETED.value, deleted_at=Now(), updated_at=Now()):
            raise Conflict(f"Image {image.name} is protected.", field="protected")
        # Not before the deletion is certain; what a crash leaves here, `image_files_sweep` takes.
        transaction.on_commit(lambda: _remove_files(image_id, current=None), robust=True)


def image_files_sweep() -> int:
    """Remove what uploads and deletions left half done for `upload_stale_s`. Returns how many files went.

    The row of an upload that was cut off no longer holds its part of the quota either, and takes a new one.

    A whole file that no row explains is not removed: a database restored from a backup does not know the images that
    were uploaded since. It waits `image_unknown_days` and is moved to the directory `trash`.
    """
    options, now_s = server_options(), time.time()
    cut_off = Image.objects.filter(status=ImageStatus.SAVING, updated_at__lt=now_plus(-options.upload_stale_s))
    cut_off.update(status=ImageStatus.QUEUED, size_bytes=0, status_reason=CUT_OFF, updated_at=Now())
    if not options.image_dir.is_dir() or not image_directory_is_ours(options.image_dir):
        return 0
    old = [file for file in stored_files(options.image_dir) if file.modified_at_s < now_s - options.upload_stale_s]
    rows = Image.objects.filter(pk__in={file.image_id for file in old})
    known = {pk: (status, upload_id) for pk, status, upload_id in rows.values_list("pk", "status", "upload_id")}
    went = 0
    for file in old:
        status, upload_id = known.get(file.image_id, ("", None))
        if status in READABLE and upload_id == file.upload_id and not file.is_part:
            continue
        if file.is_part or status in READABLE or status == ImageStatus.DELETED:
            file.path.unlink(missing_ok=True)
        elif 0 < options.image_unknown_days < (now_s - file.modified_at_s) / 86400.0:
            _to_trash(file.path)
        else:
            continue
        went += 1
    return went


def _to_trash(path: Path) -> None:
    trash = path.parent / TRASH
    trash.mkdir(exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.replace(trash / path.name)
        log.warning("no image has the file %s: it was moved to %s", path.name, trash)


def _path(image_id: uuid.UUID, upload_id: uuid.UUID, suffix: str = "") -> Path:
    return server_options().image_dir / f"{image_id}.{upload_id}{suffix}"


def _remove_files(image_id: uuid.UUID, *, current: uuid.UUID | None) -> None:
    directory = server_options().image_dir
    if not directory.is_dir():
        return
    for file in stored_files(directory):
        if file.image_id == image_id and (file.is_part or file.upload_id != current):
            file.path.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
