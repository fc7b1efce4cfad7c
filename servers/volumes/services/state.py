"""States of volumes and snapshots change here, and only by compare-and-set.

A state is written only over one that it may follow (`servers.volumes.domain.transitions`); where somebody read the row
before he decided, over the generation that he read, too. Of two that change a volume at once, one is refused.
"""

import uuid
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.kernel.texts import any_of
from controlplane.kernel.texts import phrase as _
from servers.models import Volume, VolumeSnapshot
from servers.volumes.domain.errors import InvalidSnapshot, InvalidVolume, SnapshotNotFound, VolumeNotFound
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import snapshot_states_before, volume_states_before
from servers.volumes.services.copies import volume_held, volume_uncopied_require
from servers.volumes.services.hints import volumes_changed

_V = VolumeState
AT_REST = frozenset({_V.AVAILABLE, _V.IN_USE})
MOVES_BYTES = frozenset(
    {
        _V.RESERVED,
        _V.ATTACHING,
        _V.DETACHING,
        _V.EXTENDING,
        _V.REVERTING,
        _V.BACKING_UP,
        _V.RESTORING,
        _V.AWAITING_TRANSFER,
        _V.RETYPING,
        _V.DELETING,
    }
)
"""What is not begun with a volume at rest while a copy of it is being made."""


def volume_state_set(
    *,
    volume_id: uuid.UUID,
    after: VolumeState,
    before: Collection[VolumeState] | None = None,
    generation: int | None = None,
    **changes: Any,
) -> Volume:
    """Set the volume's state, with `changes` of other columns, and return the row as it is then.

    Only from a state of `before`: by default each that `after` may follow; and only at `generation`, where it is given.
    What is in MOVES_BYTES waits for copies of the volume that are being made. Raises VolumeNotFound, InvalidVolume.
    """
    with transaction.atomic():
        if after in MOVES_BYTES and (held := volume_held(volume_id=volume_id)).state in AT_REST:
            volume_uncopied_require(held)
        row = volume_state_try(volume_id=volume_id, after=after, before=before, generation=generation, **changes)
    if row is not None:
        return row
    now = Volume.objects.filter(pk=volume_id).first()
    if now is None:
        raise VolumeNotFound(_("Volume {volume_id} does not exist.", volume_id=volume_id))
    raise InvalidVolume(
        _(
            "Volume {now} is {state}: it must be {before} for this.",
            now=now,
            state=now.state,
            before=_words(before or volume_states_before(after)),
        )
        if generation is None or now.generation == generation
        else _("Volume {now} was changed meanwhile: it is {state}.", now=now, state=now.state),
        field="state",
        state=now.state,
    )


def volume_state_try(
    *,
    volume_id: uuid.UUID,
    after: VolumeState,
    before: Collection[VolumeState] | None = None,
    generation: int | None = None,
    **changes: Any,
) -> Volume | None:
    """The same; None, and nothing changed, where the volume is gone or in another state: for ends of work, which come
    too late as soon as somebody else decided.
    """
    allowed = volume_states_before(after)
    chosen = allowed if before is None else allowed & set(before)
    rows = Volume.objects.filter(pk=volume_id, state__in=[one.value for one in chosen])
    if generation is not None:
        rows = rows.filter(generation=generation)
    if not rows.update(state=after.value, generation=F("generation") + 1, updated_at=Now(), **changes):
        return None
    row = Volume.objects.select_related("pool", "volume_type").get(pk=volume_id)
    volumes_changed(row)
    return row


def volume_state_force(*, volume_id: uuid.UUID, after: VolumeState, **changes: Any) -> Volume:
    """Write a state over any other: for administrators. Raises VolumeNotFound."""
    rows = Volume.objects.filter(pk=volume_id)
    if not rows.update(state=after.value, generation=F("generation") + 1, updated_at=Now(), **changes):
        raise VolumeNotFound(_("Volume {volume_id} does not exist.", volume_id=volume_id))
    row = Volume.objects.select_related("pool", "volume_type").get(pk=volume_id)
    volumes_changed(row)
    return row


def snapshot_state_set(
    *,
    snapshot_id: uuid.UUID,
    after: VolumeSnapshotState,
    before: Collection[VolumeSnapshotState] | None = None,
    **changes: Any,
) -> VolumeSnapshot:
    """Set the state of a volume's snapshot, as `volume_state_set`. Raises SnapshotNotFound, InvalidSnapshot."""
    row = snapshot_state_try(snapshot_id=snapshot_id, after=after, before=before, **changes)
    if row is not None:
        return row
    now = VolumeSnapshot.objects.filter(pk=snapshot_id).first()
    if now is None:
        raise SnapshotNotFound(_("Snapshot {snapshot_id} does not exist.", snapshot_id=snapshot_id))
    raise InvalidSnapshot(
        _(
            "Snapshot {now} is {state}: it must be {before} for this.",
            now=now,
            state=now.state,
            before=_words(before or snapshot_states_before(after)),
        ),
        field="state",
        state=now.state,
    )


def snapshot_state_try(
    *,
    snapshot_id: uuid.UUID,
    after: VolumeSnapshotState,
    before: Collection[VolumeSnapshotState] | None = None,
    **changes: Any,
) -> VolumeSnapshot | None:
    """The same; None, and nothing changed, where the snapshot is gone or in another state."""
    allowed = snapshot_states_before(after)
    chosen = allowed if before is None else allowed & set(before)
    rows = VolumeSnapshot.objects.filter(pk=snapshot_id, state__in=[one.value for one in chosen])
    if not rows.update(state=after.value, generation=F("generation") + 1, updated_at=Now(), **changes):
        return None
    row = VolumeSnapshot.objects.select_related("volume", "volume__pool").get(pk=snapshot_id)
    volumes_changed(row.volume)
    return row


def snapshot_state_force(*, snapshot_id: uuid.UUID, after: VolumeSnapshotState) -> VolumeSnapshot:
    """Write a state over any other: for administrators. Raises SnapshotNotFound."""
    rows = VolumeSnapshot.objects.filter(pk=snapshot_id)
    if not rows.update(state=after.value, generation=F("generation") + 1, updated_at=Now()):
        raise SnapshotNotFound(_("Snapshot {snapshot_id} does not exist.", snapshot_id=snapshot_id))
    row = VolumeSnapshot.objects.select_related("volume", "volume__pool").get(pk=snapshot_id)
    volumes_changed(row.volume)
    return row


def _words(states: Collection[VolumeState] | Collection[VolumeSnapshotState]) -> str:
    return any_of(sorted(one.value for one in states))
