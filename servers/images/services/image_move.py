"""Moving the bytes of all images, and of backups of volumes, from one store to another, while both may be in use.

Active images and backups never change, so each is copied once. What is there already, whole, was read with the right
checksum when it was written, and is passed over: killed anywhere, the next run goes on. Nothing is removed unless that
is asked for, and then only what was read back from the other store with the right checksum.
"""

import hashlib
import logging
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from controlplane.kernel.errors import Conflict, Invalid, KilonovaError
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.images.services.image_store import READABLE
from servers.images.stores.chosen import store_named
from servers.images.stores.store import BytesName, ByteStore
from servers.models import Image, VolumeBackup

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Stored:
    """An image, or a backup of a volume, that has its bytes."""

    id: uuid.UUID
    name: str
    upload_id: uuid.UUID
    size_bytes: int
    sha256: str


class MoveStep(StrEnum):
    """What became of one image or backup."""

    COPIED = "copied"
    THERE = "was there"
    VERIFIED = "verified"
    REMOVED = "verified, and removed from where it was"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Moved:
    """One image or backup, and why it failed if it did."""

    image_id: uuid.UUID
    name: str
    size_bytes: int
    step: MoveStep
    reason: str = ""


def images_move(*, source: str, target: str, verify: bool = False, remove: bool = False) -> Iterator[Moved]:
    """Copy every image and backup that has data from the store `source` to the store `target`, one after the other.

    `verify`: read each back from the target and compare its checksum. `remove`: that, and then remove it from the
    source. Raises Unavailable when the target is not set up or another installation's, and Conflict when images would
    be removed from where they are served. What goes wrong with one is told, and the next one is tried.
    """
    if remove and server_options().image_store == source:
        raise Conflict(
            _(
                "IMAGE_STORE is {source}: images are served from there. Set it to {target} first.",
                source=source,
                target=target,
            )
        )
    stores = store_named(source), store_named(target)
    stores[1].claim()
    # Not one long cursor: copying them takes hours.
    for find, pk in [*((_image, pk) for pk in _images()), *((_backup, pk) for pk in _backups())]:
        stored = find(pk)
        if stored is not None:
            try:
                step, reason = _moved(stored, *stores, verify=verify or remove, remove=remove), ""
            except KilonovaError as error:
                step, reason = MoveStep.FAILED, error.message
                log.warning("%s was not moved: %s", pk, reason)
            yield Moved(pk, stored.name, stored.size_bytes, step, reason)


def _images() -> list[uuid.UUID]:
    statuses = [status.value for status in READABLE]
    rows = Image.objects.filter(status__in=statuses, upload_id__isnull=False).order_by("created_at", "id")
    return list(rows.values_list("pk", flat=True))


def _image(pk: uuid.UUID) -> _Stored | None:
    row = Image.objects.filter(pk=pk, status__in=[status.value for status in READABLE]).first()
    if row is None or row.upload_id is None:
        return None
    return _Stored(pk, row.name, row.upload_id, row.size_bytes, row.checksum_sha256)


def _backups() -> list[uuid.UUID]:
    rows = VolumeBackup.objects.filter(has_bytes=True).order_by("created_at", "id")
    return list(rows.values_list("pk", flat=True))


def _backup(pk: uuid.UUID) -> _Stored | None:
    row = VolumeBackup.objects.filter(pk=pk, has_bytes=True).first()
    if row is None or row.upload_id is None:
        return None
    return _Stored(pk, f"backup {row}", row.upload_id, row.size_bytes, row.checksum)


def _moved(image: _Stored, source: ByteStore, target: ByteStore, *, verify: bool, remove: bool) -> MoveStep:
    name, step = BytesName(image.id, image.upload_id), MoveStep.THERE
    if target.size(name) != image.size_bytes:
        target.room_check(image.size_bytes)
        with source.open(name) as data, closing(target.begin(name)) as incoming:
            digest = hashlib.sha256()
            for chunk in data:
                digest.update(chunk)
                incoming.write(chunk)
            _require_checksum(image, digest.hexdigest(), _("it was read from where it is"))
            incoming.publish()
        step = MoveStep.COPIED
    if verify:
        digest = hashlib.sha256()
        with target.open(name) as data:
            for chunk in data:
                digest.update(chunk)
        _require_checksum(image, digest.hexdigest(), _("it was read back"))
        step = MoveStep.VERIFIED
    if remove:
        for stored in source.stored(image.id):
            source.remove(stored)
        step = MoveStep.REMOVED
    return step


def _require_checksum(image: _Stored, sha256: str, when: str) -> None:
    if sha256 != image.sha256:
        raise Invalid(
            _(
                "Its SHA-256 is {sha256}, not {image_sha256} as its record says, as {when}.",
                sha256=sha256,
                image_sha256=image.sha256,
                when=when,
            )
        )
