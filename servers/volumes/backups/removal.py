"""Backups that are being deleted lose their bytes, then their passphrase and their row; and what was missed is done."""

import logging
import uuid

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Unavailable
from servers.images.stores.chosen import byte_store
from servers.models import VolumeBackup
from servers.volumes.domain.states import BackupState
from servers.volumes.selectors.backups import backup_get
from servers.volumes.services.backup_ends import backups_resume
from servers.volumes.services.backups import backup_deletion_begin
from servers.volumes.services.keys import volume_key_remove

log = logging.getLogger(__name__)
BATCH = 100


@audited("volume_backup.force_delete", VolumeBackup, by="backup_id")
def backup_force_delete(*, caller: Caller | None, backup_id: uuid.UUID) -> None:
    """Have nothing of the backup, whatever its state is, for administrators: what is under way for it is given up.
    Where the store does not answer, its row goes without its bytes, for which the store's clean-up finds no row then.

    Raises BackupNotFound, Forbidden; InvalidBackup as `backup_delete`. Killed after the first of its two steps, it is
    an ordinary deletion.
    """
    if caller is not None:
        require(caller, "volumes:force_delete")
    backup_get(caller=caller, backup_id=backup_id)
    in_transaction(lambda: backup_deletion_begin(backup_id=backup_id, is_forced=True))
    _remove(backup_id, is_forced=True)


def backups_round() -> int:
    """Remove what is `deleting`, and go on with what stood still. Returns how many backups went. Killed anywhere, the
    next round does the rest.
    """
    backups_resume()
    rows = VolumeBackup.objects.filter(state=BackupState.DELETING).order_by("updated_at")
    return sum(_remove(pk) for pk in list(rows.values_list("pk", flat=True)[:BATCH]))


def _remove(backup_id: uuid.UUID, *, is_forced: bool = False) -> bool:
    """Whether the row of one that is `deleting` went."""
    try:
        store = byte_store()
        for stored in store.stored(backup_id):
            store.remove(stored)
    except Unavailable as error:
        log.warning("the bytes of backup %s cannot be removed now: %s", backup_id, error.message)
        if not is_forced:
            return False
        log.warning("backup %s was deleted by force without its bytes", backup_id)
    with transaction.atomic():
        gone, _ = VolumeBackup.objects.filter(pk=backup_id, state=BackupState.DELETING).delete()
        volume_key_remove(owner_id=backup_id)
    return bool(gone)
