"""What becomes of a volume or snapshot when a host did, or could not do, what was asked of it.

Each function is called in the transaction that ends the work, and again for a subject that is gone or moved on: then it
changes nothing.
"""

import uuid

from computeagent.protocol.volumes import VolumeFacts
from servers.models import Volume, VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.services.attachments import state_by_attachments
from servers.volumes.services.backup_ends import snapshot_came, snapshot_failed
from servers.volumes.services.claims import volume_claim_resize
from servers.volumes.services.deletion import snapshot_row_remove, volume_row_remove
from servers.volumes.services.limits import volume_limits_due
from servers.volumes.services.new_volumes import qos_stored
from servers.volumes.services.notifications import emit_snapshot, emit_volume
from servers.volumes.services.snapshot_claims import snapshot_unclaim
from servers.volumes.services.snapshot_images import image_of_snapshots_settle
from servers.volumes.services.state import snapshot_state_try, volume_state_try

_V = VolumeState
_S = VolumeSnapshotState


def volume_create_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The volume is there: `available`."""
    row = volume_state_try(
        volume_id=subject,
        after=_V.AVAILABLE,
        before=[_V.CREATING],
        location=facts.location,
        used_bytes=facts.used_bytes,
        fault="",
    )
    if row is not None:
        emit_volume("create.end", row)


def volume_create_failed(*, subject: uuid.UUID, message: str) -> None:
    """Nothing of it is there: `error`, until somebody deletes it. It has its claim until then."""
    row = volume_state_try(volume_id=subject, after=_V.ERROR, before=[_V.CREATING], fault=message)
    if row is not None:
        emit_volume("create.error", row, problem=message)


def volume_delete_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The bytes are gone, and so is the row."""
    row = Volume.objects.select_related("pool").filter(pk=subject, state=_V.DELETING).first()
    if row is not None:
        volume_row_remove(row)


def volume_delete_failed(*, subject: uuid.UUID, message: str) -> None:
    """Something of it may be there still: `error_deleting`, from which it is deleted again."""
    row = volume_state_try(volume_id=subject, after=_V.ERROR_DELETING, before=[_V.DELETING], fault=message)
    if row is not None:
        emit_volume("delete.error", row, problem=message)


def volume_extend_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """It has the size that was wanted, and the limits of that size."""
    row = Volume.objects.select_related("volume_type").filter(pk=subject, state=_V.EXTENDING).first()
    if row is None:
        return
    size_gib = max(row.wanted_gib, row.size_gib)
    after = volume_state_try(
        volume_id=subject,
        after=state_by_attachments(subject),
        before=[_V.EXTENDING],
        size_gib=size_gib,
        wanted_gib=0,
        qos=qos_grown(row, size_gib),
        used_bytes=facts.used_bytes or row.used_bytes,
        fault="",
    )
    if after is not None:
        if VolumeAttachment.objects.filter(volume=subject).count() > 1:
            volume_limits_due(subject)  # one hypervisor made it grow; the guests of the others are told, too
        emit_volume("resize.end", after)


def qos_grown(volume: Volume, size_gib: int) -> dict[str, int]:
    """The limits that it had, and what its type adds for each GiB more."""
    before, after = (qos_stored(volume.volume_type, size) for size in (volume.size_gib, size_gib))
    grown = {name: after.get(name, 0) - before.get(name, 0) for name in after}
    return {name: volume.qos.get(name, 0) + grown.get(name, 0) for name in {*volume.qos, *grown}}


def volume_extend_failed(*, subject: uuid.UUID, message: str) -> None:
    """It has the size and the claim that it had. One that an instance has stays `in-use`, and says why."""
    row = Volume.objects.filter(pk=subject, state=_V.EXTENDING).first()
    if row is None:
        return
    resting = state_by_attachments(subject)
    after = volume_state_try(
        volume_id=subject,
        after=_V.ERROR_EXTENDING if resting is _V.AVAILABLE else resting,
        before=[_V.EXTENDING],
        wanted_gib=0,
        fault=message,
    )
    if after is not None:
        volume_claim_resize(volume=after, size_gib=after.size_gib)
        emit_volume("resize.error", after, problem=message)


def volume_revert_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """It has the bytes of its snapshot."""
    row = volume_state_try(
        volume_id=subject, after=_V.AVAILABLE, before=[_V.REVERTING], used_bytes=facts.used_bytes, fault=""
    )
    if row is not None:
        emit_volume("revert.end", row)


def volume_revert_failed(*, subject: uuid.UUID, message: str) -> None:
    """Nobody knows which bytes it has: `error`, until it goes back again, or is deleted. The snapshot is whole."""
    row = volume_state_try(volume_id=subject, after=_V.ERROR, before=[_V.REVERTING], fault=message)
    if row is not None:
        emit_volume("revert.error", row, problem=message)


def snapshot_create_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The snapshot is there."""
    row = snapshot_state_try(
        snapshot_id=subject,
        after=_S.AVAILABLE,
        before=[_S.CREATING],
        location=facts.location,
        used_bytes=facts.used_bytes,
        is_consistent=facts.is_consistent,
        frozen_ms=facts.frozen_ms,
        fault="",
    )
    if row is not None:
        emit_snapshot("create.end", row)
        snapshot_came(snapshot_id=row.pk)
        image_of_snapshots_settle(row.image_id)


def snapshot_create_failed(*, subject: uuid.UUID, message: str) -> None:
    """Nothing of it is there: `error`, and its claim is given back."""
    row = snapshot_state_try(snapshot_id=subject, after=_S.ERROR, before=[_S.CREATING], fault=message)
    if row is not None:
        snapshot_unclaim(snapshot=row)
        emit_snapshot("create.error", row, problem=message)
        snapshot_failed(snapshot_id=row.pk, message=message)
        image_of_snapshots_settle(row.image_id)


def snapshot_delete_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The bytes are gone, and so is the row."""
    rows = VolumeSnapshot.objects.select_related("volume", "volume__pool")
    row = rows.filter(pk=subject, state=_S.DELETING).first()
    if row is not None:
        snapshot_row_remove(row)


def snapshot_delete_failed(*, subject: uuid.UUID, message: str) -> None:
    """Something of it may be there still; a volume that was to go with it stays, too."""
    row = snapshot_state_try(snapshot_id=subject, after=_S.ERROR_DELETING, before=[_S.DELETING], fault=message)
    if row is None:
        return
    emit_snapshot("delete.error", row, problem=message)
    words = f"Its snapshot {row} could not be deleted: {message}"
    volume = volume_state_try(volume_id=row.volume_id, after=_V.ERROR_DELETING, before=[_V.DELETING], fault=words)
    if volume is not None:
        emit_volume("delete.error", volume, problem=words)
