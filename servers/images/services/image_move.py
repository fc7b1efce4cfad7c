"""Moving the bytes of all images from one store to another, while both may be in use.

Active images never change, so each is copied once. What is there already, whole, was read with the right checksum when
it was written, and is passed over: killed anywhere, the next run goes on. Nothing is removed unless that is asked for,
and then only what was read back from the other store with the right checksum.
"""

import hashlib
import logging
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from controlplane.kernel.errors import Conflict, Invalid, KilonovaError
from servers.conf import server_options
from servers.images.services.image_store import READABLE
from servers.images.stores.chosen import store_named
from servers.images.stores.store import BytesName, ByteStore
from servers.models import Image

log = logging.getLogger(__name__)


class MoveStep(StrEnum):
    """What became of one image."""

    COPIED = "copied"
    THERE = "was there"
    VERIFIED = "verified"
    REMOVED = "verified, and removed from where it was"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Moved:
    """One image, and why it failed if it did."""

    image_id: uuid.UUID
    name: str
    size_bytes: int
    step: MoveStep
    reason: str = ""


def images_move(*, source: str, target: str, verify: bool = False, remove: bool = False) -> Iterator[Moved]:
    """Copy every image that has data from the store `source` to the store `target`, one after the other.

    `verify`: read each back from the target and compare its checksum. `remove`: that, and then remove it from the
    source. Raises Unavailable when the target is not set up or another installation's, and Conflict when images would
    be removed from where they are served. What goes wrong with one image is told, and the next one is tried.
    """
    if remove and server_options().image_store == source:
        raise Conflict(f"IMAGE_STORE is {source}: images are served from there. Set it to {target} first.")
    stores = store_named(source), store_named(target)
    stores[1].claim()
    statuses = [status.value for status in READABLE]
    rows = Image.objects.filter(status__in=statuses, upload_id__isnull=False).order_by("created_at", "id")
    # Not one long cursor: copying them takes hours.
    for pk in list(rows.values_list("pk", flat=True)):
        image = rows.filter(pk=pk).first()
        if image is not None:
            try:
                step, reason = _moved(image, *stores, verify=verify or remove, remove=remove), ""
            except KilonovaError as error:
                step, reason = MoveStep.FAILED, error.message
                log.warning("image %s was not moved: %s", pk, reason)
            yield Moved(pk, image.name, image.size_bytes, step, reason)


def _moved(image: Image, source: ByteStore, target: ByteStore, *, verify: bool, remove: bool) -> MoveStep:
    assert image.upload_id is not None  # noqa: S101 - the query says so
    name, step = BytesName(image.pk, image.upload_id), MoveStep.THERE
    if target.size(name) != image.size_bytes:
        target.room_check(image.size_bytes)
        with source.open(name) as data, closing(target.begin(name)) as incoming:
            digest = hashlib.sha256()
            for chunk in data:
                digest.update(chunk)
                incoming.write(chunk)
            _require_checksum(image, digest.hexdigest(), "it was read from where it is")
            incoming.publish()
        step = MoveStep.COPIED
    if verify:
        digest = hashlib.sha256()
        with target.open(name) as data:
            for chunk in data:
                digest.update(chunk)
        _require_checksum(image, digest.hexdigest(), "it was read back")
        step = MoveStep.VERIFIED
    if remove:
        for stored in source.stored(image.pk):
            source.remove(stored)
        step = MoveStep.REMOVED
    return step


def _require_checksum(image: Image, sha256: str, when: str) -> None:
    if sha256 != image.checksum_sha256:
        raise Invalid(f"Its SHA-256 is {sha256}, not {image.checksum_sha256} as its record says, as {when}.")
