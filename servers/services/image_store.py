"""The bytes of images: files under IMAGE_DIR, streamed, never whole in memory.

Each upload has its own id and its own file, `<image>.<upload>.part`, renamed to `<image>.<upload>` when it is whole
and on the disk. The row names the upload that counts, so of two uploads side by side the one that began last wins,
the other finds no row and removes its own file; a crash at any point leaves `saving`, which takes a new upload.
"""

import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from django.db import transaction
from django.db.models.functions import Now

from controlplane.identity.domain import Caller
from controlplane.kernel.disk_images import disk_image_size
from controlplane.kernel.errors import Conflict, Invalid, KilonovaError, NotFound, TooLarge, Unavailable
from servers.conf import server_options
from servers.domain.fields import refuse_if
from servers.domain.image_rules import checksum_reasons
from servers.domain.images import UPLOADABLE, ImageStatus
from servers.models import Image
from servers.services.image import image_owned

CHUNK_BYTES = 1024 * 1024
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

    Raises NotFound, Forbidden; Conflict when the image has its data or a later upload took over; TooLarge above
    IMAGE_MAX_BYTES; Invalid when checksum or content are not what was said. After the last two the image is `killed`
    with the reason in `status_reason`; after a body that was cut off it is `queued`. Both may be uploaded again.
    """
    image = image_owned(caller=caller, image_id=image_id)
    if expected_sha256:
        refuse_if({"checksum_sha256": checksum_reasons(expected_sha256)})
    upload_id = _begin(image)
    part = _path(image_id, upload_id, ".part")
    try:
        received = _receive(stream, part, declared_bytes)
        facts = _verified(image, received, part, expected_sha256)
        _publish(part, _path(image_id, upload_id))
        _finish(image_id, upload_id, facts)
    except BaseException as error:
        _abandon(image_id, upload_id, error)
        if isinstance(error, OSError):
            raise Unavailable(f"The image store cannot take the file: {error.strerror or error}.") from error
        raise
    _remove_files(image_id, keep=upload_id)
    return Image.objects.get(pk=image_id)


def _begin(image: Image) -> uuid.UUID:
    upload_id = uuid.uuid4()
    rows = Image.objects.filter(pk=image.pk, status__in=[status.value for status in UPLOADABLE])
    if not rows.update(status=ImageStatus.SAVING.value, upload_id=upload_id, status_reason="", updated_at=Now()):
        raise Conflict(f"Image {image.name} has its data already.", field="status")
    return upload_id


def _receive(stream: Readable, part: Path, declared_bytes: int | None) -> Received:
    limit = server_options().image_max_bytes
    if declared_bytes is not None and declared_bytes > limit:
        raise _too_large(declared_bytes, limit)
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.open("wb") as file:
        received = _copy(stream, file.write, limit)
        file.flush()
        os.fsync(file.fileno())
    if declared_bytes is not None and received.size_bytes != declared_bytes:
        raise BodyCutOff(f"The body ended after {received.size_bytes} of {declared_bytes} bytes.", field="file")
    return received


class _Write(Protocol):
    def __call__(self, data: bytes, /) -> int: ...


def _copy(stream: Readable, write: _Write, limit: int) -> Received:
    digest, size = hashlib.sha256(), 0
    while chunk := _read(stream):
        size += len(chunk)
        if size > limit:
            raise _too_large(size, limit)
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
    return {
        "checksum_sha256": received.sha256,
        "size_bytes": received.size_bytes,
        "virtual_size_bytes": virtual,
    }


def _publish(part: Path, final: Path) -> None:
    try:
        part.replace(final)
    except FileNotFoundError as error:  # a later upload or the deletion removed it
        raise Conflict(TAKEN_OVER, field="status") from error
    _sync_directory(final.parent)


def _finish(image_id: uuid.UUID, upload_id: uuid.UUID, facts: dict[str, str | int]) -> None:
    rows = Image.objects.filter(pk=image_id, upload_id=upload_id, status=ImageStatus.SAVING)
    if not rows.update(status=ImageStatus.ACTIVE.value, updated_at=Now(), **facts):
        raise Conflict(TAKEN_OVER, field="status")


def _abandon(image_id: uuid.UUID, upload_id: uuid.UUID, error: BaseException) -> None:
    """Remove what was written, and let the row say why. Whatever fails here must not hide `error`."""
    with contextlib.suppress(OSError):
        _path(image_id, upload_id, ".part").unlink(missing_ok=True)
        if isinstance(error, Conflict):
            _path(image_id, upload_id).unlink(missing_ok=True)
    is_refused = isinstance(error, Invalid) and not isinstance(error, BodyCutOff)
    rows = Image.objects.filter(pk=image_id, upload_id=upload_id, status=ImageStatus.SAVING)
    rows.update(
        status=(ImageStatus.KILLED if is_refused else ImageStatus.QUEUED).value,
        status_reason=error.message[:500] if isinstance(error, KilonovaError) else "The upload was cut off.",
        updated_at=Now(),
    )


def image_chunks(image_id: uuid.UUID) -> Iterator[bytes]:
    """The bytes of an image that has some. NotFound, Conflict and Unavailable are raised at once, not while reading."""
    image = Image.objects.filter(pk=image_id).exclude(status=ImageStatus.DELETED).first()
    if image is None:
        raise NotFound(f"Image {image_id} does not exist.")
    if image.status not in READABLE or image.upload_id is None:
        raise Conflict(f"Image {image.name} is {image.status}; it has no data yet.", status=image.status)
    try:
        file = _path(image_id, image.upload_id).open("rb")
    except OSError as error:
        raise Unavailable(f"The file of image {image.name} cannot be read: {error.strerror}.") from error

    def chunks() -> Iterator[bytes]:
        with file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    return chunks()


def image_delete(*, caller: Caller | None, image_id: uuid.UUID) -> None:
    """Mark it deleted, then remove its files. Raises NotFound, Forbidden; Conflict while it is protected."""
    image = image_owned(caller=caller, image_id=image_id)
    rows = Image.objects.filter(pk=image_id, protected=False).exclude(status=ImageStatus.DELETED)
    with transaction.atomic():
        if not rows.update(status=ImageStatus.DELETED.value, deleted_at=Now(), updated_at=Now()):
            raise Conflict(f"Image {image.name} is protected.", field="protected")
        # Not before the deletion is certain; what a crash leaves here, `image_files_sweep` takes.
        transaction.on_commit(lambda: _remove_files(image_id, keep=None), robust=True)


def image_files_sweep() -> int:
    """Remove files that no row names and that nobody wrote to for `upload_stale_s`. Returns how many went."""
    directory, stale_before = server_options().image_dir, time.time() - server_options().upload_stale_s
    if not directory.is_dir():
        return 0
    readable = Image.objects.filter(status__in=READABLE).values_list("pk", "upload_id")
    kept = {_path(image_id, upload_id).name for image_id, upload_id in readable if upload_id}
    stale = [path for path in directory.iterdir() if path.name not in kept and _is_older(path, stale_before)]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _is_older(path: Path, moment_s: float) -> bool:
    try:
        return path.is_file() and path.stat().st_mtime < moment_s
    except FileNotFoundError:
        return False


def _path(image_id: uuid.UUID, upload_id: uuid.UUID, suffix: str = "") -> Path:
    return server_options().image_dir / f"{image_id}.{upload_id}{suffix}"


def _remove_files(image_id: uuid.UUID, *, keep: uuid.UUID | None) -> None:
    kept = f"{image_id}.{keep}" if keep else ""
    for path in server_options().image_dir.glob(f"{image_id}.*"):
        if path.name != kept:
            path.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
