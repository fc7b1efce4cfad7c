"""Which volumes a backup can be restored into, so that what they had is lost."""

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.models import Volume, VolumeBackup
from servers.volumes.domain.errors import InvalidBackup, InvalidVolume
from servers.volumes.domain.states import BackupState
from servers.volumes.domain.transitions import RESTORABLE
from servers.volumes.selectors.volumes import volumes_visible
from servers.volumes.services.keys import volume_key_open, volume_keys_equal

MAX_CHOICES = 500


def volumes_restorable(*, caller: Caller, backup: VolumeBackup) -> list[Volume]:
    """Those of the backup's project that would be taken now, by name; MAX_CHOICES at most. Of an encrypted backup those
    with its passphrase.
    """
    states = [state.value for state in RESTORABLE]
    rows = volumes_visible(caller).filter(project_id=backup.project_id, state__in=states)
    rows = rows.filter(size_gib__gte=backup.size_gib, is_encrypted=backup.is_encrypted).order_by("name", "pk")
    found = list(rows[:MAX_CHOICES])
    if not backup.is_encrypted:
        return found
    fitting = volume_keys_equal(owner_id=backup.pk, among=[one.pk for one in found])
    return [one for one in found if one.pk in fitting]


def restorable_require(backup: VolumeBackup, volume: Volume) -> None:
    """What the volume is, beside its state. Raises InvalidBackup, InvalidVolume; NotFound and Invalid for a passphrase
    that is not to be had.
    """
    if backup.state != BackupState.AVAILABLE:
        raise InvalidBackup(
            _("Backup {backup} is {state}, not available.", backup=backup, state=backup.state), state=backup.state
        )
    if volume.size_gib < backup.size_gib:
        raise InvalidVolume(
            _(
                "Volume {volume} has {size_gib} GiB, and backup {backup} is of {backup_size_gib}.",
                volume=volume,
                size_gib=volume.size_gib,
                backup=backup,
                backup_size_gib=backup.size_gib,
            ),
            field="volume",
        )
    keys = [volume_key_open(owner_id=one.pk) if one.is_encrypted else "" for one in (backup, volume)]
    if keys[0] != keys[1]:
        raise InvalidVolume(
            _(
                "Volume {volume} is not encrypted as backup {backup} is: make a new volume of it.",
                volume=volume,
                backup=backup,
            ),
            field="volume",
        )
