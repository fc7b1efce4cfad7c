"""Images whose bytes come in pieces: how hosts send snapshots.

Killed anywhere, the row is `saving` and takes the next piece, or is `queued` again once `upload_stale_s` is over, when
the clean-up removes the pieces.
"""

import uuid
from functools import partial

from django.db.models.functions import Now

from computeagent.protocol.uploads import UploadPlace
from controlplane.kernel.errors import Invalid
from servers.conf import server_options
from servers.images.domain.images import UPLOADABLE, DiskFormat, ImageStatus
from servers.images.services.image_store import (
    READABLE,
    TAKEN_OVER,
    image_quota_held,
    upload_finish,
)
from servers.images.services.pieces import Announced, NotTaken, pieces_begin, pieces_end, pieces_take
from servers.images.services.virtual_size import stored_whole_check, virtual_size_verified
from servers.images.stores.chosen import byte_store
from servers.images.stores.store import BytesName
from servers.models import Image


def upload_piece_bytes() -> int:
    """How large a piece may be."""
    return byte_store().piece_bytes


def upload_begin(*, image_id: uuid.UUID, size_bytes: int, sha256: str) -> UploadPlace:
    """See `pieces_begin`."""
    return pieces_begin(byte_store(), IncomingImage(image_id), size_bytes=size_bytes, sha256=sha256)


def upload_piece(*, image_id: uuid.UUID, offset: int, data: bytes) -> int:
    """See `pieces_take`."""
    return pieces_take(byte_store(), IncomingImage(image_id), offset=offset, data=data)


def upload_end(*, image_id: uuid.UUID) -> None:
    """See `pieces_end`. What was announced otherwise leaves the image `queued`; what is no image that is taken, leaves
    it `killed`.
    """
    pieces_end(byte_store(), IncomingImage(image_id))


class IncomingImage:
    """See `Incoming`."""

    def __init__(self, image_id: uuid.UUID) -> None:
        self.id = image_id

    @property
    def max_bytes(self) -> int:
        """See Incoming."""
        return server_options().image_max_bytes

    def there(self) -> Announced | None:
        """See Incoming."""
        image = self._row()
        if image.status not in READABLE:
            return None
        return Announced(image.upload_id, image.upload_part, image.size_bytes, image.checksum_sha256)

    def coming(self) -> Announced | None:
        """See Incoming. What came before of an image that is not `saving` does not count, but for its name."""
        image = self._row()
        if image.status != ImageStatus.SAVING:
            return None if image.upload_id is None else Announced(image.upload_id, "", 0, "")
        return Announced(image.upload_id, image.upload_part, image.size_bytes, image.expected_sha256)

    def begin(self, announced: Announced, *, before: uuid.UUID | None) -> bool:
        """See Incoming."""
        rows = Image.objects.filter(pk=self.id, upload_id=before, status__in=[one.value for one in UPLOADABLE])
        with image_quota_held(self._row(), announced.size_bytes, uploads=1):
            return bool(
                rows.update(
                    status=ImageStatus.SAVING.value,
                    upload_id=announced.upload_id,
                    upload_part=announced.part,
                    size_bytes=announced.size_bytes,
                    expected_sha256=announced.sha256,
                    status_reason="",
                    updated_at=Now(),
                )
            )

    def came(self, upload_id: uuid.UUID) -> bool:
        """See Incoming."""
        rows = Image.objects.filter(pk=self.id, upload_id=upload_id, status=ImageStatus.SAVING)
        return bool(rows.update(updated_at=Now()))

    def finish(self, announced: Announced, head: bytes) -> None:
        """See Incoming."""
        image = self._row()
        if announced.upload_id is None:
            raise Invalid(TAKEN_OVER, field="status")
        declared = DiskFormat(image.disk_format)
        store, name = byte_store(), BytesName(self.id, announced.upload_id)
        try:
            size = virtual_size_verified(
                declared, head, size_bytes=announced.size_bytes, path=partial(store.path, name)
            )
            stored_whole_check(declared, store, name, announced.size_bytes)
        except Invalid as error:
            raise NotTaken(error.message) from error
        facts: dict[str, str | int] = {
            "checksum_sha256": announced.sha256,
            "virtual_size_bytes": size,
            "upload_part": "",
        }
        upload_finish(image, announced.upload_id, announced.size_bytes, facts)

    def refuse(self, upload_id: uuid.UUID, why: str, *, is_final: bool) -> None:
        """See Incoming."""
        rows = Image.objects.filter(pk=self.id, upload_id=upload_id, status=ImageStatus.SAVING)
        status = ImageStatus.KILLED if is_final else ImageStatus.QUEUED
        rows.update(status=status.value, size_bytes=0, status_reason=why[:500], updated_at=Now())

    def _row(self) -> Image:
        image = Image.objects.filter(pk=self.id).exclude(status=ImageStatus.DELETED).first()
        if image is None:
            raise Invalid(TAKEN_OVER, field="status")
        return image
