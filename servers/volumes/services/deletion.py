"""The deletion of volumes and snapshots: the bytes first, by a host; then passphrase, claim and row, in one step."""

import logging
import uuid

from computeagent.protocol.volumes import VolumeWorkKind
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import work_cancel, work_lock
from servers.models import Volume, VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.errors import InvalidVolume, PoolUnreachable, VolumeAttached, VolumeHasSnapshots
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import GIVEN_UP
from servers.volumes.selectors.backups import snapshots_wanted
from servers.volumes.services.claims import volume_unclaim
from servers.volumes.services.copies import snapshot_held, snapshot_uncopied_require, volume_held
from servers.volumes.services.hints import volumes_changed
from servers.volumes.services.keys import volume_key_remove
from servers.volumes.services.notifications import emit_snapshot, emit_volume
from servers.volumes.services.snapshot_claims import snapshot_unclaim
from servers.volumes.services.state import (
    snapshot_state_force,
    snapshot_state_set,
    volume_state_force,
    volume_state_set,
)
from servers.volumes.services.work import volume_work_begin

log = logging.getLogger(__name__)


def volume_deletion_begin(*, volume_id: uuid.UUID, with_snapshots: bool, is_forced: bool) -> None:
    """See `volume_delete`. In the caller's transaction."""
    work_lock(subject=volume_id)  # agents lock the work before the volume
    row = volume_held(volume_id=volume_id)
    if row.state == VolumeState.DELETING and not is_forced:
        return
    deletable_require(row, is_forced=is_forced)
    snapshots, count = list(VolumeSnapshot.objects.filter(volume=row)), snapshots_wanted(row).count()
    if count and not with_snapshots:
        raise VolumeHasSnapshots(
            _("Volume {row} has {count} snapshots: delete them first, or together with it.", row=row, count=count),
            snapshots=count,
        )
    if is_forced:
        after = volume_state_force(volume_id=row.pk, after=VolumeState.DELETING)
    else:
        after = volume_state_set(volume_id=row.pk, after=VolumeState.DELETING, before=GIVEN_UP)
    work_cancel(subject=row.pk)
    emit_volume("delete.start", after)
    for snapshot in snapshots:
        _snapshot_begin(snapshot, is_forced=is_forced)
    volume_bytes_remove(after, is_forced=is_forced)


def deletable_require(volume: Volume, *, is_forced: bool) -> None:
    """Raise VolumeAttached, or InvalidVolume, for a volume that something still needs."""
    instances = [
        str(one) for one in VolumeAttachment.objects.filter(volume=volume).values_list("instance_uuid", flat=True)
    ]
    if instances:
        raise VolumeAttached(
            _("Volume {volume} is attached to instance {instances}.", volume=volume, instances=instances[0]),
            instances=instances,
        )
    if volume.instance_uuid is not None and volume.state == VolumeState.CREATING and not is_forced:
        raise InvalidVolume(
            _(
                "Volume {volume} is being made with instance {instance_uuid}, and goes with it.",
                volume=volume,
                instance_uuid=volume.instance_uuid,
            ),
            state=volume.state,
        )


def volume_bytes_remove(volume: Volume, *, is_forced: bool = False) -> None:
    """Have a host remove the bytes of a volume that is `deleting`, once no snapshot of it is there any more.

    Where no host reaches its pool now, it stays `deleting` until `deletions_resume` finds one that does; by force it
    goes without its bytes.
    """
    if VolumeSnapshot.objects.filter(volume=volume).exists():
        return None  # the end of the last of them comes back here
    if volume.pool is None:
        return volume_row_remove(volume)
    try:
        volume_work_begin(kind=VolumeWorkKind.VOLUME_DELETE, subject=volume.pk, volume=volume)
    except PoolUnreachable as error:
        if not is_forced:
            Volume.objects.filter(pk=volume.pk).update(fault=error.message)
            return None
        log.warning("volume %s was deleted by force without its bytes: no host reaches pool %s", volume.pk, volume.pool)
        volume_row_remove(volume)
    return None


def volume_row_remove(volume: Volume) -> None:
    """The bytes are gone: so are passphrase, claim and row."""
    emit_volume("delete.end", volume)
    volumes_changed(volume)
    volume_key_remove(owner_id=volume.pk)
    volume_unclaim(volume=volume)
    volume.delete()


def snapshot_deletion_begin(*, snapshot_id: uuid.UUID, is_forced: bool) -> None:
    """See `snapshot_delete`. In the caller's transaction."""
    work_lock(subject=snapshot_id)
    row = snapshot_held(snapshot_id=snapshot_id)
    if row.state == VolumeSnapshotState.DELETING and not is_forced:
        return
    _snapshot_begin(row, is_forced=is_forced)


def _snapshot_begin(snapshot: VolumeSnapshot, *, is_forced: bool) -> None:
    if snapshot.state == VolumeSnapshotState.DELETING and not is_forced:
        return
    held = snapshot_held(snapshot_id=snapshot.pk)
    snapshot_uncopied_require(held)
    if is_forced:
        held = snapshot_state_force(snapshot_id=held.pk, after=VolumeSnapshotState.DELETING)
    else:
        held = snapshot_state_set(snapshot_id=held.pk, after=VolumeSnapshotState.DELETING)
    work_cancel(subject=held.pk)
    emit_snapshot("delete.start", held)
    snapshot_bytes_remove(held, is_forced=is_forced)


def snapshot_bytes_remove(held: VolumeSnapshot, *, is_forced: bool = False) -> None:
    """Have a host remove the bytes of a snapshot that is `deleting`, as `volume_bytes_remove`."""
    try:
        volume_work_begin(kind=VolumeWorkKind.VOLUME_SNAPSHOT_DELETE, subject=held.pk, volume=held.volume)
    except PoolUnreachable as error:
        if not is_forced:
            VolumeSnapshot.objects.filter(pk=held.pk).update(fault=error.message)
            return
        log.warning("snapshot %s was deleted by force without its bytes: no host reaches its pool", held.pk)
        snapshot_row_remove(held)


def snapshot_row_remove(snapshot: VolumeSnapshot) -> None:
    """The bytes are gone: so are claim and row. A volume that waited for it goes on being deleted."""
    emit_snapshot("delete.end", snapshot)
    volume = snapshot.volume
    volumes_changed(volume)
    snapshot_unclaim(snapshot=snapshot)
    snapshot.delete()
    if volume.state == VolumeState.DELETING:
        volume_bytes_remove(volume)
