"""The bytes of images, streamed into the store and out of it, never whole in memory.

Each upload has its own id and its own name in the store, `<image>.<upload>`, which it takes when it is whole. The row
names the upload that counts, so of two uploads side by side the one that began last wins, the other finds no row and
removes its own bytes; a crash at any point leaves `saving`, which takes a new upload.
"""

import contextlib
import hashlib
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.kernel.disk_images import INSPECTED_MAX_BYTES
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
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import WorkLease, open_work_subjects, work_cancel, work_lock
from scheduling.domain.request.image_property_names import present_names
from servers.catalog.domain.quota import ImageAmounts
from servers.catalog.services.quota import image_quota_check, quota_lock
from servers.conf import server_options
from servers.fields import refuse_if
from servers.images.domain.image_disks import has_root_of_its_own
from servers.images.domain.image_rules import checksum_reasons
from servers.images.domain.images import NATIVE, OPEN_TASK_STATES, UPLOADABLE, DiskFormat, ImageStatus
from servers.images.domain.signatures import MD5, SHA256, digest_wanted
from servers.images.services.certificates import uploaded_signature_check
from servers.images.services.image import image_owned
from servers.images.services.image_tasks import conversion_begin
from servers.images.services.virtual_size import stored_whole_check, virtual_size_verified
from servers.images.stores.chosen import byte_store
from servers.images.stores.shared_reads import shared_reads
from servers.images.stores.store import CHUNK_BYTES, BytesName, ByteStore, ImageBytes, IncomingBytes
from servers.models import Image, ImageTask, Instance, VolumeBackup

log = logging.getLogger(__name__)
CHECK_BYTES = 8 * CHUNK_BYTES
"""So often quota and free space are checked while bytes come."""
CHECK_EVERY_S = 60.0
CUT_OFF = _("The upload was cut off.")
TAKEN_OVER = _("The image was deleted, or another upload of it began later.")
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
    digests: dict[str, str]
    """Beside the SHA-256, in hex by method."""
    size_bytes: int
    head: bytes = field(repr=False)
    """What its format is told by."""


@audited("image.upload", Image, by="image_id", is_apart=True)
def image_upload(
    *,
    caller: Caller | None,
    image_id: uuid.UUID,
    stream: Readable,
    declared_bytes: int | None = None,
    expected_sha256: str = "",
    task: WorkLease | None = None,
    converted: bool = False,
) -> Image:
    """Take the bytes and make the image active; one of a format that hosts do not take stays `saving` until the work
    that is written for it has converted it.

    `task`: the work that does this; nobody else may send bytes while an image has open work. `converted`: these bytes
    are the image as qcow2, whatever its record says.

    Raises NotFound, Forbidden; QuotaExceeded; Unavailable below the reserve of free space; Conflict when the image has
    its data or a later upload took over; TooLarge above IMAGE_MAX_BYTES; Invalid when checksum or content are not what
    was said. After the last two the image is `killed` with the reason in `status_reason`; after a body that was cut
    off, or found no room, it is `queued`. Both may be uploaded again.
    """
    image = image_owned(caller=caller, image_id=image_id)
    if expected_sha256:
        refuse_if({"checksum_sha256": checksum_reasons(expected_sha256)})
    if has_root_of_its_own(image.properties):
        raise Conflict(
            _("Image {image} takes no bytes: its disks are snapshots of volumes.", image=image.name), field="status"
        )
    limit = server_options().image_max_bytes
    if declared_bytes is not None and declared_bytes > limit:
        raise _too_large(declared_bytes, limit)
    if task is None and open_work_subjects(subjects=[image_id]):
        raise Conflict(
            _("The bytes of image {image} are being imported or converted already.", image=image.name), field="status"
        )
    disk_format = DiskFormat.QCOW2 if converted else DiskFormat(image.disk_format)
    store, upload_id = byte_store(), _begin(image, declared_bytes or 0)
    name = BytesName(image_id, upload_id)
    try:
        store.claim()
        room = _RoomHeld(image, upload_id, declared_bytes or 0)
        store.room_check(declared_bytes or 0)
        with contextlib.closing(store.begin(name)) as incoming:
            received = _receive(stream, incoming, declared_bytes, room)
            checksums = (expected_sha256.lower(), "" if converted else image.expected_sha256)
            virtual_size = _verified(disk_format, received, checksums, incoming.path)
            incoming.publish()
            stored_whole_check(disk_format, store, name, received.size_bytes)
            facts: dict[str, Any] = {"checksum_sha256": received.sha256, "digests": received.digests}
            facts |= {"virtual_size_bytes": virtual_size, "disk_format": disk_format}
            upload_finish(image, upload_id, received.size_bytes, facts)
    except BaseException as error:
        _abandon(store, name, error)
        raise
    with contextlib.suppress(Unavailable):  # the clean-up does it later
        _remove_bytes(store, image_id, current=upload_id)
    return Image.objects.get(pk=image_id)


def _begin(image: Image, announced_bytes: int) -> uuid.UUID:
    upload_id = uuid.uuid4()
    rows = Image.objects.filter(pk=image.pk, status__in=[status.value for status in UPLOADABLE])
    changes = {"status": ImageStatus.SAVING.value, "upload_id": upload_id, "status_reason": ""}
    with image_quota_held(image, announced_bytes, uploads=1):
        if not rows.update(**changes, size_bytes=announced_bytes, updated_at=Now()):
            raise Conflict(_("Image {image} has its data already.", image=image.name), field="status")
    return upload_id


@contextlib.contextmanager
def image_quota_held(image: Image, size_bytes: int, *, uploads: int) -> Iterator[None]:
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
        byte_store().room_check(self.announced_bytes - size)
        held = max(size, self.announced_bytes)
        rows = Image.objects.filter(pk=self.image.pk, upload_id=self.upload_id, status=ImageStatus.SAVING)
        with image_quota_held(self.image, held, uploads=1):
            if not rows.update(size_bytes=held, updated_at=Now()):
                raise Conflict(TAKEN_OVER, field="status")


def _receive(stream: Readable, incoming: IncomingBytes, declared_bytes: int | None, room: _RoomHeld) -> Received:
    digest, size, limit, head = hashlib.sha256(), 0, server_options().image_max_bytes, bytearray()
    signed_by = digest_wanted(present_names(room.image.properties))
    others = {MD5: hashlib.md5(usedforsecurity=False)}
    if signed_by:
        others[signed_by] = hashlib.new(signed_by.replace("-", ""))
    while chunk := _read(stream):
        size += len(chunk)
        if size > limit:
            raise _too_large(size, limit)
        room.grown_to(size)
        for each in (digest, *others.values()):
            each.update(chunk)
        head += chunk[: INSPECTED_MAX_BYTES - len(head)]
        incoming.write(chunk)
    if declared_bytes is not None and size != declared_bytes:
        raise BodyCutOff(
            _("The body ended after {size} of {declared_bytes} bytes.", size=size, declared_bytes=declared_bytes),
            field="file",
        )
    digests = {method: each.hexdigest() for method, each in others.items()}
    return Received(digest.hexdigest(), digests, size, bytes(head))


def _read(stream: Readable) -> bytes:
    try:
        return stream.read(CHUNK_BYTES)
    except OSError as error:
        raise BodyCutOff(_("The body could not be read to its end."), field="file") from error


def _too_large(size: int, limit: int) -> TooLarge:
    return TooLarge(
        _("The image has at least {size} bytes; at most {limit} are taken.", size=size, limit=limit),
        field="file",
        limit=limit,
    )


def _verified(
    disk_format: DiskFormat, received: Received, checksums: tuple[str, ...], path: Callable[[], Path | None]
) -> int:
    """The size of the disk in bytes, once the bytes are what was said: by their checksum, by their beginning, and as
    qemu-img sees them where it is installed and they are a file here. Hosts look once more.
    """
    for expected in filter(None, checksums):
        if expected != received.sha256:
            raise Invalid(
                _("The checksum is {sha256}, not {expected} as was said.", sha256=received.sha256, expected=expected),
                field="checksum_sha256",
            )
    return virtual_size_verified(disk_format, received.head, size_bytes=received.size_bytes, path=path)


def upload_finish(image: Image, upload_id: uuid.UUID, size_bytes: int, facts: dict[str, Any]) -> None:
    """The image is active, or its conversion is written as work, in the transaction that says that it has its bytes.

    The upload is whole and verified, and counts if it is still the one. Raises Conflict, QuotaExceeded.
    """
    is_native = facts.get("disk_format", image.disk_format) in NATIVE
    if is_native:  # what is converted has other bytes than those that were signed
        uploaded_signature_check(image, {SHA256: facts["checksum_sha256"], **facts.get("digests", {})})
    status = ImageStatus.ACTIVE if is_native else ImageStatus.SAVING
    rows = Image.objects.filter(pk=image.pk, upload_id=upload_id, status=ImageStatus.SAVING)
    with image_quota_held(image, size_bytes, uploads=0):
        if not rows.update(status=status.value, size_bytes=size_bytes, updated_at=Now(), **facts):
            raise Conflict(TAKEN_OVER, field="status")
        if not is_native:
            conversion_begin(image, upload_id=upload_id, size_bytes=size_bytes)


def _abandon(store: ByteStore, name: BytesName, error: BaseException) -> None:
    """Remove what was written, and let the row say why. Whatever fails here must not hide `error`."""
    image_id, upload_id = name.image_id, name.upload_id
    if isinstance(error, Conflict | QuotaExceeded | Invalid):  # may be found when the bytes have their name
        with contextlib.suppress(Unavailable):
            for stored in store.stored(image_id):
                if stored.name == name:
                    store.remove(stored)
    is_refused = isinstance(error, Invalid) and not isinstance(error, BodyCutOff)
    rows = Image.objects.filter(pk=image_id, upload_id=upload_id, status=ImageStatus.SAVING)
    rows.update(
        status=(ImageStatus.KILLED if is_refused else ImageStatus.QUEUED).value,
        size_bytes=0,
        status_reason=error.message[:500] if isinstance(error, KilonovaError) else CUT_OFF,
        updated_at=Now(),
    )


def image_chunks(image_id: uuid.UUID, *, caller: Caller | None = None, offset: int = 0) -> ImageBytes:
    """The bytes from `offset` on of an image that has some; of a deactivated one for admins and the installation (None)
    only.

    NotFound, Forbidden, Conflict and Unavailable are raised at once, not while reading.
    """
    image = Image.objects.filter(pk=image_id).exclude(status=ImageStatus.DELETED).first()
    if image is None:
        raise NotFound(_("Image {image_id} does not exist.", image_id=image_id))
    if image.status not in READABLE or image.upload_id is None:
        raise Conflict(
            _("Image {image} is {status}; it has no data yet.", image=image.name, status=image.status),
            status=image.status,
        )
    if image.status == ImageStatus.DEACTIVATED and caller is not None and not caller.is_admin:
        raise Forbidden(
            _("Image {image} is deactivated: only administrators may read it.", image=image.name), status=image.status
        )
    name = BytesName(image_id, image.upload_id)
    return shared_reads().open(byte_store(), name, offset=offset, size_bytes=image.size_bytes)


@audited("image.delete", Image, by="image_id")
def image_delete(*, caller: Caller | None, image_id: uuid.UUID) -> None:
    """Mark it deleted, then remove its bytes. Raises NotFound, Forbidden; Conflict while it is protected, and while a
    shelved instance is kept in it.
    """
    image = image_owned(caller=caller, image_id=image_id)
    rows = Image.objects.filter(pk=image_id, protected=False).exclude(status=ImageStatus.DELETED)
    with transaction.atomic():
        work_lock(subject=image_id)
        Image.objects.select_for_update().filter(pk=image_id).first()
        # After the lock that shelving takes too.
        shelved = Instance.objects.filter(shelved_image_id=image_id, deleted_at__isnull=True).first()
        if shelved is not None:
            raise Conflict(
                _("Instance {shelved} is shelved, and kept in it.", shelved=shelved.name),
                field="id",
                instance=str(shelved.pk),
            )
        if not rows.update(status=ImageStatus.DELETED.value, deleted_at=Now(), updated_at=Now()):
            raise Conflict(_("Image {image} is protected.", image=image.name), field="protected")
        work_cancel(subject=image_id)
        ImageTask.objects.filter(image=image_id).delete()
        # Not before the deletion is certain; what a crash leaves here, the clean-up takes.
        transaction.on_commit(lambda: _remove_bytes(byte_store(), image_id, current=None), robust=True)


def image_files_sweep() -> int:
    """Remove what uploads and deletions left half done for `upload_stale_s`. Returns how many files or objects went.

    The row of an upload that was cut off no longer holds its part of the quota either, and takes a new one.

    A whole file that no row explains is not removed: a database restored from a backup does not know the images that
    were uploaded since. It waits `image_unknown_days` and is moved to `trash`.
    """
    options, now_s, store = server_options(), time.time(), byte_store()
    cut_off = Image.objects.filter(status=ImageStatus.SAVING, updated_at__lt=now_plus(-options.upload_stale_s))
    # What is imported or converted may wait for its turn for longer; it ends with its work.
    cut_off.exclude(task__state__in=OPEN_TASK_STATES).update(
        status=ImageStatus.QUEUED, size_bytes=0, status_reason=CUT_OFF, updated_at=Now()
    )
    if not store.is_ours():
        return 0
    old = [stored for stored in store.stored() if stored.modified_at_s < now_s - options.upload_stale_s]
    rows = Image.objects.filter(pk__in={stored.name.image_id for stored in old})
    known = {pk: (status, upload_id) for pk, status, upload_id in rows.values_list("pk", "status", "upload_id")}
    backups = VolumeBackup.objects.filter(pk__in={stored.name.image_id for stored in old})
    of_backups = dict(backups.values_list("pk", "upload_id"))
    went = 0
    for stored in old:
        if stored.name.image_id in of_backups:
            if stored.is_part or of_backups[stored.name.image_id] != stored.name.upload_id:
                store.remove(stored)
                went += 1
            continue
        status, upload_id = known.get(stored.name.image_id, ("", None))
        if status in READABLE and upload_id == stored.name.upload_id and not stored.is_part:
            continue
        if stored.is_part or status in READABLE or status == ImageStatus.DELETED:
            store.remove(stored)
        elif 0 < options.image_unknown_days < (now_s - stored.modified_at_s) / 86400.0:
            store.to_trash(stored)
            log.warning("no image has the bytes %s: they were moved to the store's trash", stored.name)
        else:
            continue
        went += 1
    return went


def image_bytes_remove(image_id: uuid.UUID) -> None:
    """Remove the bytes of an image that has none that count. Raises Unavailable."""
    if not Image.objects.filter(pk=image_id, status__in=[one.value for one in READABLE]).exists():
        _remove_bytes(byte_store(), image_id, current=None)


def _remove_bytes(store: ByteStore, image_id: uuid.UUID, *, current: uuid.UUID | None) -> None:
    for stored in store.stored(image_id):
        if stored.is_part or stored.name.upload_id != current:
            store.remove(stored)
