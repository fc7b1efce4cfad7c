"""Volumes go to another project by an offer: whoever knows its id and its word takes it.

The word is shown once, to who made the offer; the row has its digest. Until the offer is taken, taken back or over, the
volume is `awaiting-transfer`, and nothing else is done with it.
"""

import hmac
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.domain.token import token_digest
from controlplane.infra.db import in_transaction, now_plus
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from servers.catalog.services.quota import quota_lock
from servers.conf import server_options
from servers.fields import refuse_if, text_reasons
from servers.models import Volume, VolumeSnapshot, VolumeTransfer
from servers.volumes.domain.errors import (
    InvalidAuthKey,
    InvalidSnapshot,
    TransferNotFound,
    VolumeHasSnapshots,
    VolumeTypeNotFound,
)
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.selectors.volume_types import volume_types_visible
from servers.volumes.selectors.volumes import transfer_get, volume_get
from servers.volumes.services.claims import volume_claim_owner_set
from servers.volumes.services.copies import volume_held
from servers.volumes.services.hints import volumes_changed
from servers.volumes.services.notifications import emit_volume
from servers.volumes.services.quota import volumes_quota_require
from servers.volumes.services.snapshot_claims import snapshot_owner_set
from servers.volumes.services.state import volume_state_set, volume_state_try

HOUR_S = 3600.0
SWEPT = 200
WORD_BYTES = 16
"""As many as nobody guesses."""


@dataclass(frozen=True, slots=True)
class TransferOffer:
    """An offer and its word, which is stored nowhere."""

    transfer: VolumeTransfer
    word: str


@audited("volume.transfer_create", Volume, by="volume_id")
def transfer_create(
    *, caller: Caller | None, volume_id: uuid.UUID, name: str = "", has_snapshots: bool = True
) -> TransferOffer:
    """Offer an available volume, its snapshots with it. Raises VolumeNotFound, InvalidFields, InvalidVolume;
    VolumeHasSnapshots where they are not to go with it.
    """
    refuse_if({"name": text_reasons(name, maximum=255)})
    return in_transaction(lambda: _create(caller, volume_id, name, has_snapshots))


def _create(caller: Caller | None, volume_id: uuid.UUID, name: str, has_snapshots: bool) -> TransferOffer:
    volume_get(caller=caller, volume_id=volume_id)
    held = volume_held(volume_id=volume_id)
    snapshots = _snapshots_at_rest(held)
    if snapshots and not has_snapshots:
        raise VolumeHasSnapshots(
            _(
                "Volume {held} has {count} snapshots, which go with it or are deleted before.",
                held=held,
                count=len(snapshots),
            ),
            snapshots=len(snapshots),
        )
    volume = volume_state_set(volume_id=volume_id, after=VolumeState.AWAITING_TRANSFER, before=[VolumeState.AVAILABLE])
    word = secrets.token_urlsafe(WORD_BYTES)
    transfer = VolumeTransfer.objects.create(
        volume=volume,
        name=name,
        has_snapshots=has_snapshots,
        word_hash=token_digest(word),
        expires_at=now_plus(server_options().volume_transfer_hours * HOUR_S),
    )
    emit_volume("transfer.create.end", volume)
    return TransferOffer(transfer_get(caller=None, transfer_id=transfer.pk), word)


def _snapshots_at_rest(volume: Volume) -> list[VolumeSnapshot]:
    """Its snapshots. Raises InvalidSnapshot where something is being done to one."""
    found = list(VolumeSnapshot.objects.select_for_update().filter(volume=volume).order_by("pk"))
    for one in found:
        if one.state in {VolumeSnapshotState.CREATING, VolumeSnapshotState.DELETING}:
            raise InvalidSnapshot(
                _("Snapshot {one} of the volume is {state}: wait for that.", one=one, state=one.state), state=one.state
            )
    return found


@audited("volume_transfer.delete", by="transfer_id")
def transfer_delete(*, caller: Caller | None, transfer_id: uuid.UUID) -> None:
    """Take an offer back: the volume is available again. Raises TransferNotFound."""

    def work() -> None:
        offer = transfer_get(caller=caller, transfer_id=transfer_id)
        if _end(offer.pk) is None:
            raise TransferNotFound(_("Transfer {transfer_id} is over.", transfer_id=transfer_id))

    in_transaction(work)


def _end(transfer_id: uuid.UUID) -> Volume | None:
    """Remove an offer and free its volume; None where somebody else ended it meanwhile."""
    volume_id = VolumeTransfer.objects.filter(pk=transfer_id).values_list("volume_id", flat=True).first()
    if volume_id is None:
        return None
    volume_held(volume_id=volume_id)
    if not VolumeTransfer.objects.filter(pk=transfer_id).delete()[0]:
        return None
    volume = volume_state_try(volume_id=volume_id, after=VolumeState.AVAILABLE, before=[VolumeState.AWAITING_TRANSFER])
    if volume is not None:
        emit_volume("transfer.delete.end", volume)
    return volume


@audited("volume.transfer_accept", Volume)
def transfer_accept(*, caller: Caller, transfer_id: uuid.UUID, word: str) -> Volume:
    """Have the caller's project own the volume, its snapshots too. Of two who take it at once, one does.

    Raises TransferNotFound, also for one that is over; InvalidAuthKey; QuotaExceeded; VolumeTypeNotFound where the
    project may not use the volume's type; Conflict for a project's own volume.
    """
    return in_transaction(lambda: _accept(caller, transfer_id, word))


def _accept(caller: Caller, transfer_id: uuid.UUID, word: str) -> Volume:
    quota_lock(caller.project_id)
    offer = transfer_get(caller=None, transfer_id=transfer_id)
    if not hmac.compare_digest(offer.word_hash, token_digest(word)):
        raise InvalidAuthKey(_("The word of the transfer is another one."), field="word")
    volume = volume_held(volume_id=offer.volume_id)
    if volume.project_id == caller.own_project_id:
        raise Conflict(_("The volume is this project's already: take the transfer back instead."))
    type_id = volume.volume_type_id
    if type_id is not None and not volume_types_visible(caller).filter(pk=type_id).exists():
        raise VolumeTypeNotFound(_("This project may not use the volume's type: an administrator gives it access."))
    snapshots = _snapshots_at_rest(volume)
    gib = volume.size_gib + sum(one.size_gib for one in snapshots)
    volumes_quota_require(project_id=caller.project_id, volumes=1, gib=gib, snapshots=len(snapshots))
    if not VolumeTransfer.objects.filter(pk=transfer_id, expires_at__gt=Now()).delete()[0]:
        raise TransferNotFound(_("Transfer {transfer_id} does not exist, or is over.", transfer_id=transfer_id))
    before = volume.project_id
    VolumeSnapshot.objects.filter(volume=volume).update(
        project_id=caller.project_id, user_id=caller.user_id, updated_at=Now(), generation=F("generation") + 1
    )
    after = volume_state_set(
        volume_id=volume.pk,
        after=VolumeState.AVAILABLE,
        before=[VolumeState.AWAITING_TRANSFER],
        project_id=caller.project_id,
        user_id=caller.user_id,
    )
    _claims_follow(after, snapshots)
    volume.project_id = before
    volumes_changed(volume, after)
    emit_volume("transfer.accept.end", after)
    return after


def _claims_follow(volume: Volume, snapshots: Sequence[VolumeSnapshot]) -> None:
    volume_claim_owner_set(volume=volume)
    for one in VolumeSnapshot.objects.select_related("volume", "volume__pool").filter(pk__in=[s.pk for s in snapshots]):
        snapshot_owner_set(snapshot=one)


def transfers_sweep() -> int:
    """End offers that are over; their volumes are available again. Returns how many."""
    over = VolumeTransfer.objects.filter(expires_at__lte=Now()).order_by("expires_at")
    ended = 0
    for transfer_id in list(over.values_list("pk", flat=True)[:SWEPT]):
        ended += in_transaction(lambda pk=transfer_id: _end(pk)) is not None  # type: ignore[misc]  # bound at once
    return ended
