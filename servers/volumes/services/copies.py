"""What is read from a volume while something else might happen to it.

A copy of a volume that no guest has is made from its bytes as they lie there: nobody may write to them meanwhile. A
copy of one that a guest has is made by that guest's hypervisor: the guest may not lose it meanwhile. Whoever begins
either one, or asks for it, holds the volume's row until his transaction ends, and then looks at the other.
"""

import uuid

from django.db.models import Q

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.kernel.texts import phrase as _
from servers.models import Volume, VolumeBackup, VolumeSnapshot
from servers.volumes.domain.errors import (
    BackupNotFound,
    InvalidSnapshot,
    InvalidVolume,
    SnapshotNotFound,
    VolumeNotFound,
)
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState


def volume_held(*, volume_id: uuid.UUID) -> Volume:
    """The volume, its row locked until the transaction ends. Raises VolumeNotFound."""
    row = Volume.objects.select_for_update(of=("self",)).select_related("pool", "volume_type", "left_pool")
    found = row.filter(pk=volume_id).first()
    if found is None:
        raise VolumeNotFound(_("Volume {volume_id} does not exist.", volume_id=volume_id))
    return found


def snapshot_held(*, snapshot_id: uuid.UUID) -> VolumeSnapshot:
    """The snapshot, its row locked until the transaction ends. Raises SnapshotNotFound."""
    rows = VolumeSnapshot.objects.select_for_update(of=("self",)).select_related("volume", "volume__pool")
    found = rows.filter(pk=snapshot_id).first()
    if found is None:
        raise SnapshotNotFound(_("Snapshot {snapshot_id} does not exist.", snapshot_id=snapshot_id))
    return found


def backup_held(*, backup_id: uuid.UUID) -> VolumeBackup:
    """The backup, its row locked until the transaction ends. Raises BackupNotFound."""
    rows = VolumeBackup.objects.select_for_update(of=("self",)).select_related("parent")
    found = rows.filter(pk=backup_id).first()
    if found is None:
        raise BackupNotFound(_("Backup {backup_id} does not exist.", backup_id=backup_id))
    return found


def volume_copied_now(volume_id: uuid.UUID) -> str:
    """What is being made of the volume now, in words; empty for nothing. Asked while its row is held."""
    if VolumeSnapshot.objects.filter(volume=volume_id, state=VolumeSnapshotState.CREATING).exists():
        return "a snapshot is being made of it"
    if _made_of(VolumeSourceKind.VOLUME, volume_id):
        return "another volume is being made of it"
    return ""


def volume_uncopied_require(volume: Volume) -> None:
    """Raise InvalidVolume while something is being made of the volume. Its row is held."""
    if words := volume_copied_now(volume.pk):
        raise InvalidVolume(
            _("Volume {volume} has to wait: {words}.", volume=volume, words=words), field="state", state=volume.state
        )


def snapshot_uncopied_require(snapshot: VolumeSnapshot) -> None:
    """Raise InvalidSnapshot while a volume is being made of the snapshot, or goes back to it. Its row is held."""
    if _made_of(VolumeSourceKind.SNAPSHOT, snapshot.pk):
        raise InvalidSnapshot(
            _("Snapshot {snapshot} has to wait: a volume is being made of it.", snapshot=snapshot), state=snapshot.state
        )
    if Volume.objects.filter(pk=snapshot.volume_id, state=VolumeState.REVERTING).exists():
        raise InvalidSnapshot(
            _("Snapshot {snapshot} has to wait: its volume goes back now.", snapshot=snapshot), state=snapshot.state
        )
    creating = VolumeBackup.objects.filter(state=BackupState.CREATING)
    if creating.filter(Q(snapshot_id=snapshot.pk) | Q(parent__snapshot_id=snapshot.pk)).exists():
        raise InvalidSnapshot(
            _("Snapshot {snapshot} has to wait: a backup is being made of it.", snapshot=snapshot), state=snapshot.state
        )


def _made_of(kind: VolumeSourceKind, source_id: uuid.UUID) -> bool:
    rows = Volume.objects.filter(source_id=source_id, source_kind=kind.value, state=VolumeState.CREATING)
    return rows.exists()
