"""A backup whose bytes a host sends in pieces.

Killed anywhere, the row is `creating` and takes the next piece of the same bytes; where its pieces lay untouched for
`upload_stale_s`, the clean-up removes them and all are sent anew.
"""

import uuid

from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.kernel.errors import Conflict, Invalid
from servers.images.services.image_store import TAKEN_OVER
from servers.images.services.pieces import Announced
from servers.images.stores.chosen import byte_store
from servers.models import VolumeBackup
from servers.volumes.domain.states import BackupState


class IncomingBackup:
    """See `Incoming`."""

    def __init__(self, backup_id: uuid.UUID) -> None:
        self.id = backup_id

    @property
    def max_bytes(self) -> int:
        """See Incoming."""
        return byte_store().max_upload_bytes

    def there(self) -> Announced | None:
        """See Incoming."""
        row = self._row()
        return _announced(row) if row.has_bytes else None

    def coming(self) -> Announced | None:
        """See Incoming."""
        row = self._row()
        return None if row.has_bytes else _announced(row)

    def begin(self, announced: Announced, *, before: uuid.UUID | None) -> bool:
        """See Incoming. What it takes of its project's quota was taken when it was asked for."""
        return bool(
            self._mine(before).update(
                upload_id=announced.upload_id,
                upload_part=announced.part,
                size_bytes=announced.size_bytes,
                checksum=announced.sha256,
                updated_at=Now(),
            )
        )

    def came(self, upload_id: uuid.UUID) -> bool:
        """See Incoming."""
        return bool(self._mine(upload_id).update(updated_at=Now()))

    def finish(self, announced: Announced, head: bytes) -> None:
        """See Incoming. Only hosts read what is in it."""
        if not self._mine(announced.upload_id).update(has_bytes=True, upload_part="", updated_at=Now()):
            raise Conflict(TAKEN_OVER, field="status")

    def refuse(self, upload_id: uuid.UUID, why: str, *, is_final: bool) -> None:
        """See Incoming."""
        self._mine(upload_id).update(size_bytes=0, checksum="", updated_at=Now())

    def _mine(self, upload_id: uuid.UUID | None) -> QuerySet[VolumeBackup]:
        return VolumeBackup.objects.filter(pk=self.id, upload_id=upload_id, state=BackupState.CREATING, has_bytes=False)

    def _row(self) -> VolumeBackup:
        row = VolumeBackup.objects.filter(pk=self.id, state=BackupState.CREATING).first()
        if row is None:
            raise Invalid(TAKEN_OVER, field="status")
        return row


def _announced(row: VolumeBackup) -> Announced | None:
    return None if row.upload_id is None else Announced(row.upload_id, row.upload_part, row.size_bytes, row.checksum)
