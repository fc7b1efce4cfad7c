"""The one place that writes states of backups: compare-and-set, one generation on with each."""

import uuid
from collections.abc import Collection
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from controlplane.kernel.texts import any_of
from controlplane.kernel.texts import phrase as _
from servers.models import VolumeBackup
from servers.volumes.domain.errors import BackupNotFound, InvalidBackup
from servers.volumes.domain.states import BackupState
from servers.volumes.domain.transitions import backup_states_before


def backup_state_set(*, backup_id: uuid.UUID, after: BackupState, before: Collection[BackupState]) -> VolumeBackup:
    """Set it, from a state of `before`. Raises BackupNotFound, InvalidBackup."""
    row = backup_state_try(backup_id=backup_id, after=after, before=before)
    if row is not None:
        return row
    now = VolumeBackup.objects.filter(pk=backup_id).first()
    if now is None:
        raise BackupNotFound(_("Backup {backup_id} does not exist.", backup_id=backup_id))
    words = any_of(sorted(one.value for one in before))
    raise InvalidBackup(
        _("Backup {now} is {state}: it must be {words} for this.", now=now, state=now.state, words=words),
        field="state",
        state=now.state,
    )


def backup_state_force(*, backup_id: uuid.UUID, after: BackupState, **changes: Any) -> VolumeBackup:
    """Write a state over any other: for administrators. Raises BackupNotFound."""
    rows = VolumeBackup.objects.filter(pk=backup_id)
    if not rows.update(state=after.value, generation=F("generation") + 1, updated_at=Now(), **changes):
        raise BackupNotFound(_("Backup {backup_id} does not exist.", backup_id=backup_id))
    return VolumeBackup.objects.select_related("parent").get(pk=backup_id)


def backup_state_try(
    *, backup_id: uuid.UUID, after: BackupState, before: Collection[BackupState], **changes: Any
) -> VolumeBackup | None:
    """The same, with `changes` of other columns; None, and nothing changed, where it is gone or in another state."""
    allowed = backup_states_before(after) & set(before)
    rows = VolumeBackup.objects.filter(pk=backup_id, state__in=[one.value for one in allowed])
    if not rows.update(state=after.value, generation=F("generation") + 1, updated_at=Now(), **changes):
        return None
    return VolumeBackup.objects.select_related("parent").get(pk=backup_id)
