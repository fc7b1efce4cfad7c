"""Backups that are being deleted lose their bytes, then their passphrase and their row; and what was missed is done."""

import logging

from django.db import transaction

from controlplane.kernel.errors import Unavailable
from servers.images.stores.chosen import byte_store
from servers.models import VolumeBackup
from servers.volumes.domain.states import BackupState
from servers.volumes.services.backup_ends import backups_resume
from servers.volumes.services.keys import volume_key_remove

log = logging.getLogger(__name__)
BATCH = 100


def backups_round() -> int:
    """Remove what is `deleting`, and go on with what stood still. Returns how many backups went. Killed anywhere, the
    next round does the rest.
    """
    backups_resume()
    store, went = byte_store(), 0
    for row in VolumeBackup.objects.filter(state=BackupState.DELETING).order_by("updated_at")[:BATCH]:
        try:
            for stored in store.stored(row.pk):
                store.remove(stored)
        except Unavailable as error:
            log.warning("the bytes of backup %s cannot be removed now: %s", row.pk, error.message)
            continue
        with transaction.atomic():
            gone, _ = VolumeBackup.objects.filter(pk=row.pk, state=BackupState.DELETING).delete()
            volume_key_remove(owner_id=row.pk)
        went += bool(gone)
    return went
