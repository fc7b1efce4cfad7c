"""Bytes that come piece by piece into the store, each piece a request of its own to any web process: how hosts send
snapshots of instances and backups of volumes.

How much has come is asked of the store, so an upload goes on where it was after a cut, of the network or of either
side. Which bytes they are is known from the beginning by their checksum: the same bytes go on, others begin anew. At
the end all are read back and compared. What row the bytes are of is an `Incoming`'s business.
"""

import hashlib
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from computeagent.protocol.uploads import UploadPlace
from controlplane.kernel.disk_images import INSPECTED_MAX_BYTES
from controlplane.kernel.errors import Conflict, Invalid, QuotaExceeded, Throttled, TooLarge, Unavailable
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if
from servers.images.domain.image_rules import checksum_reasons
from servers.images.services.image_store import TAKEN_OVER
from servers.images.stores.store import BytesName, ByteStore

ASK_AGAIN_S = 3
DIFFERENT = _("The bytes that came are not those that were announced.")


@dataclass(frozen=True, slots=True)
class Announced:
    """What is on its way, or there. `part`: by what the store knows it. Without a size it is an upload that is over and
    whose bytes may still lie somewhere.
    """

    upload_id: uuid.UUID | None
    part: str
    size_bytes: int
    sha256: str


class Incoming(Protocol):
    """A row whose bytes come in pieces, as it is when it is asked. Raises Invalid where it takes none any more."""

    @property
    def id(self) -> uuid.UUID:
        """The first half of what its bytes are called."""

    @property
    def max_bytes(self) -> int:
        """The most that it takes."""

    def there(self) -> Announced | None:
        """What it has, whole; None while it has none."""

    def coming(self) -> Announced | None:
        """What is under way."""

    def begin(self, announced: Announced, *, before: uuid.UUID | None) -> bool:
        """Let this be what is under way, if `before` still is. Raises QuotaExceeded."""

    def came(self, upload_id: uuid.UUID) -> bool:
        """Note that a piece came; False when it is of no upload that counts."""

    def finish(self, announced: Announced, head: bytes) -> None:
        """It has its bytes. Raises NotTaken for such that it cannot be, Conflict when another upload counts."""

    def refuse(self, upload_id: uuid.UUID, why: str, *, is_final: bool) -> None:
        """They were not taken. With `is_final` others will not be either."""


class NotTaken(Exception):
    """Whole bytes that no row of this kind has."""


def pieces_begin(store: ByteStore, row: Incoming, *, size_bytes: int, sha256: str) -> UploadPlace:
    """Begin, or go on with what has come of the same bytes.

    Raises Invalid when the row is gone or has other data; TooLarge; QuotaExceeded; Unavailable below the reserve of
    free space, and when two begin at the same moment.
    """
    refuse_if({"sha256": checksum_reasons(sha256)})
    if not 0 < size_bytes <= row.max_bytes:
        raise TooLarge(
            _(
                "It has {size_bytes} bytes; from 1 to {max_bytes} are taken.",
                size_bytes=size_bytes,
                max_bytes=row.max_bytes,
            ),
            field="size_bytes",
        )
    there = row.there()
    if there is not None:
        if (there.sha256, there.size_bytes) != (sha256, size_bytes):
            raise Invalid(_("It has its data already."), field="status")
        return UploadPlace(size_bytes, store.piece_bytes, is_done=True)
    coming = row.coming()
    is_same = coming is not None and (coming.size_bytes, coming.sha256) == (size_bytes, sha256)
    place = _place(store, row.id, coming) if coming is not None and is_same else None
    return place or _begin_anew(store, row, coming, size_bytes, sha256)


def pieces_take(store: ByteStore, row: Incoming, *, offset: int, data: bytes) -> int:
    """Take a piece; where the next begins. Raises Invalid for one that is none or whose upload is over; Unavailable."""
    coming, upload_id = _in_hand(row)
    end = offset + len(data)
    is_last = end == coming.size_bytes
    if offset % store.piece_bytes or not data or end > coming.size_bytes or (end % store.piece_bytes and not is_last):
        raise Invalid(
            _(
                "Bytes {offset} to {end} are no piece of {piece_bytes} bytes of {size_bytes}.",
                offset=offset,
                end=end,
                piece_bytes=store.piece_bytes,
                size_bytes=coming.size_bytes,
            ),
            field="offset",
        )
    store.room_check(coming.size_bytes - offset)
    with _lost_is_invalid():
        store.part_open(BytesName(row.id, upload_id), coming.part).write(offset, data)
    if not row.came(upload_id):
        raise Invalid(TAKEN_OVER, field="status")
    return end


def pieces_end(store: ByteStore, row: Incoming) -> None:
    """Read all back, compare, and let the row have them. Done already is done.

    Raises Invalid when it is not what was announced, or nothing that such a row has; Throttled while this process reads
    it for somebody who hung up.
    """
    if row.there() is not None:
        return
    coming, upload_id = _in_hand(row)
    name = BytesName(row.id, upload_id)
    with _alone(upload_id):
        if store.size(name) != coming.size_bytes:
            with _lost_is_invalid():
                store.part_open(name, coming.part).publish(coming.size_bytes)
        sha256, head = _read_back(store, name)
        if sha256 != coming.sha256:
            upload_remove(store, name)
            row.refuse(upload_id, DIFFERENT, is_final=False)
            raise Invalid(DIFFERENT, field="sha256")
        try:
            row.finish(coming, head)
        except NotTaken as error:
            upload_remove(store, name)
            row.refuse(upload_id, str(error), is_final=True)
            raise Invalid(str(error), field="sha256") from error
        except Conflict as error:
            if row.there() is None:  # else another request read it too, and was first
                upload_remove(store, name)
                raise Invalid(TAKEN_OVER, field="status") from error


def upload_remove(store: ByteStore, name: BytesName) -> None:
    """What came by this upload. What cannot be removed now, the clean-up removes."""
    with suppress(Unavailable):
        for stored in store.stored(name.image_id):
            if stored.name == name:
                store.remove(stored)


def _in_hand(row: Incoming) -> tuple[Announced, uuid.UUID]:
    coming = row.coming()
    if coming is None or coming.upload_id is None or not coming.size_bytes:
        raise Invalid(TAKEN_OVER, field="status")
    return coming, coming.upload_id


def _place(store: ByteStore, row_id: uuid.UUID, coming: Announced) -> UploadPlace | None:
    """How far it is; None when the pieces are gone."""
    if coming.upload_id is None:
        return None
    name = BytesName(row_id, coming.upload_id)
    if store.size(name) == coming.size_bytes:
        return UploadPlace(coming.size_bytes, store.piece_bytes)
    with suppress(Conflict):
        return UploadPlace(store.part_open(name, coming.part).size(), store.piece_bytes)
    return None


def _begin_anew(store: ByteStore, row: Incoming, coming: Announced | None, size_bytes: int, sha256: str) -> UploadPlace:
    before = None if coming is None else coming.upload_id
    store.claim()
    store.room_check(size_bytes)
    name = BytesName(row.id, uuid.uuid4())
    part = store.part_begin(name)
    try:
        is_ours = row.begin(Announced(name.upload_id, part.handle, size_bytes, sha256), before=before)
    except QuotaExceeded:
        part.remove()
        raise
    if not is_ours:
        part.remove()
        raise Unavailable(_("The same upload was begun at this very moment; ask again."))
    if before is not None:
        upload_remove(store, BytesName(row.id, before))
    return UploadPlace(0, store.piece_bytes)


def _read_back(store: ByteStore, name: BytesName) -> tuple[str, bytes]:
    """The checksum of all, and what is at the beginning."""
    digest, head = hashlib.sha256(), bytearray()
    with store.open(name) as data:
        for chunk in data:
            digest.update(chunk)
            head += chunk[: INSPECTED_MAX_BYTES - len(head)]
    return digest.hexdigest(), bytes(head)


@contextmanager
def _lost_is_invalid() -> Iterator[None]:
    """Who sends pieces begins again, where pieces were removed or do not fit together."""
    try:
        yield
    except Conflict as error:
        raise Invalid(error.message, field="offset") from error


_reading: set[uuid.UUID] = set()
_reading_lock = threading.Lock()


@contextmanager
def _alone(upload_id: uuid.UUID) -> Iterator[None]:
    """Reading many bytes takes longer than proxies wait; who asks again waits for the one that reads them."""
    with _reading_lock:
        if upload_id in _reading:
            raise Throttled(_("The bytes are being read and compared. Ask again."), wait_s=ASK_AGAIN_S)
        _reading.add(upload_id)
    try:
        yield
    finally:
        with _reading_lock:
            _reading.discard(upload_id)
