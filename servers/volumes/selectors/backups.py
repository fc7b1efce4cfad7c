"""Reading backups of volumes: those of the caller's project; all for admins."""

import uuid

from django.db.models import Exists, OuterRef, QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.models import Volume, VolumeBackup, VolumeSnapshot
from servers.volumes.domain.backups import chain_of
from servers.volumes.domain.errors import BackupNotFound


def backups_visible(caller: Caller | None) -> QuerySet[VolumeBackup]:
    """The backups that the caller may know of; all without a caller."""
    rows = VolumeBackup.objects.all()
    return rows if caller is None or caller.sees_all else rows.filter(project_id=caller.project_id)


def backups_shown(caller: Caller | None) -> QuerySet[VolumeBackup]:
    """The same, with whether others rest on each. One query."""
    resting = VolumeBackup.objects.filter(parent=OuterRef("pk"))
    return backups_visible(caller).annotate(has_dependents=Exists(resting))


def backup_get(*, caller: Caller | None, backup_id: uuid.UUID) -> VolumeBackup:
    """The backup with this id. Raises BackupNotFound."""
    row = backups_shown(caller).filter(pk=backup_id).first()
    if row is None:
        raise BackupNotFound(_("Backup {backup_id} does not exist.", backup_id=backup_id))
    return row


def backup_chain(backup: VolumeBackup) -> list[VolumeBackup]:
    """The full one that it rests on, what changed since, and itself: as they are restored. One query."""
    rows = {row.pk: row for row in VolumeBackup.objects.filter(volume_id=backup.volume_id)}
    parents = {row.pk: row.parent_id for row in rows.values()}
    return [rows[pk] for pk in chain_of(backup.pk, parents)]


def snapshots_wanted(volume: Volume) -> QuerySet[VolumeSnapshot]:
    """The volume's snapshots that somebody asked for: those that backups of its project keep for the next one are in
    nobody's way.
    """
    of_backups = VolumeBackup.objects.filter(volume_id=volume.pk, project_id=volume.project_id, owns_snapshot=True)
    of_backups = of_backups.filter(snapshot_id__isnull=False)
    return VolumeSnapshot.objects.filter(volume=volume).exclude(pk__in=of_backups.values("snapshot_id"))
