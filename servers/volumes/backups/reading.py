"""The bytes of a backup, for the host that restores it."""

import uuid

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.images.stores.chosen import byte_store
from servers.images.stores.store import BytesName, ImageBytes
from servers.models import VolumeBackup


def backup_chunks(backup_id: uuid.UUID, *, offset: int = 0) -> ImageBytes:
    """From `offset` on. NotFound and Unavailable are raised at once, not while reading."""
    row = VolumeBackup.objects.filter(pk=backup_id, has_bytes=True).first()
    if row is None or row.upload_id is None:
        raise NotFound(_("Backup {backup_id} has no bytes.", backup_id=backup_id))
    return byte_store().open(BytesName(backup_id, row.upload_id), offset=offset)
