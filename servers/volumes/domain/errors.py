"""Refusals of volumes, snapshots, types and transfers, by the names that Cinder gives them."""

from collections import Counter

from controlplane.kernel.errors import Conflict, Invalid, NoCapacity, NotFound
from controlplane.kernel.texts import joined
from controlplane.kernel.texts import phrase as _
from servers.volumes.domain.pool_choice import PoolReason, owner_words


class VolumeNotFound(NotFound):
    """No such volume, or none that the caller may know of."""


class SnapshotNotFound(NotFound):
    """No such snapshot of a volume, or none that the caller may know of."""


class BackupNotFound(NotFound):
    """No such backup of a volume, or none that the caller may know of."""


class VolumeTypeNotFound(NotFound):
    """No such volume type, or none that the caller's project may use."""


class TransferNotFound(NotFound):
    """No such transfer, or one that is over."""


class AttachmentNotFound(NotFound):
    """No such attachment of a volume, or none that the caller may know of."""


class StoragePoolNotFound(NotFound):
    """No such pool."""


class InvalidVolume(Conflict):
    """The volume's state, or what is done to it now, does not allow this; `extra` may have its `state`."""

    code = "invalid_volume"


class InvalidSnapshot(Conflict):
    """The snapshot's state, or the volume it is of, does not allow this; `extra` may have its `state`."""

    code = "invalid_snapshot"


class InvalidBackup(Conflict):
    """The backup's state, or what rests on it, does not allow this; `extra` may have its `state`."""

    code = "invalid_backup"


class NoBackupBase(Conflict):
    """No backup of the volume is there whose snapshot tells what changed since."""

    code = "no_backup_base"
    retryable = False


class VolumeAttached(Conflict):
    """An instance has the volume; `extra` has `instances`."""

    code = "volume_attached"


class VolumeHasSnapshots(Conflict):
    """Snapshots of the volume are there, which would go with it; `extra` has their number as `snapshots`."""

    code = "volume_has_snapshots"


class SnapshotIsNotLatest(Conflict):
    """A volume goes back to the newest of its snapshots only."""

    code = "snapshot_is_not_latest"
    retryable = False


class PoolCannot(Conflict):
    """The volume's pool cannot do this, and says why; `extra` has `ability`. It names no pool: owners read it."""

    code = "pool_cannot"
    retryable = False


class NoValidBackend(NoCapacity):
    """No pool can have the volume. `extra` has `pools`: for each why not, with numbers."""

    code = "no_valid_backend"

    def for_owner(self) -> "NoValidBackend":
        """The same for whoever may not know of pools: how many of them refuse it for which reason."""
        reasons = Counter(
            owner_words(PoolReason(one["reason"]), one["words"], wanted=one["wanted"])
            for one in self.extra.get("pools", ())
        )
        said = joined((_counted(count, words) for words, count in reasons.most_common(5)), "{first}; {rest}")
        return NoValidBackend(_("No storage pool can have the volume. {said}.", said=said or _("There is none")))


def _counted(count: int, words: str) -> str:
    if count == 1:
        return _("{count} pool: {words}", count=count, words=words)
    return _("{count} pools: {words}", count=count, words=words)


class PoolUnreachable(Conflict):
    """No host that is up now reaches the volume's pool, or the one that has to."""

    code = "pool_unreachable"


class VolumeTypeExists(Conflict):
    """Another type has the name."""

    code = "volume_type_exists"
    retryable = False


class VolumeTypeInUse(Conflict):
    """Volumes are of the type; `extra` has their number as `volumes`."""

    code = "volume_type_in_use"


class VolumeTypeDefault(Conflict):
    """The type is the default: another one takes its place before it goes, or is for some projects only."""

    code = "volume_type_default"


class VolumeTypeAccessPublic(Conflict):
    """Every project may use a public type: there is nothing to give or to take."""

    code = "volume_type_access_public"
    retryable = False


class InvalidAuthKey(Invalid):
    """The word of the transfer is another one."""

    code = "invalid_auth_key"
