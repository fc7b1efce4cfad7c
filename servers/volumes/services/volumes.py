"""Volumes are made, changed and removed here.

What takes time is asked of a host as work, in the transaction that writes the state which says so; `volume_ends` has
what becomes of it. A caller of None is the control plane itself, for what follows from something else.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models.functions import Now

from computeagent.protocol.volumes import PoolAbility, VolumeWorkKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import InvalidFields, NoCapacity
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import work_cancel, work_lock
from servers.catalog.services.quota import quota_lock
from servers.fields import refuse_if, text_reasons
from servers.models import Volume, VolumeAttachment, VolumeSnapshot, VolumeTransfer
from servers.volumes.domain.errors import (
    InvalidSnapshot,
    InvalidVolume,
    NoValidBackend,
    SnapshotIsNotLatest,
    VolumeAttached,
)
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import EXTENDABLE, OF_INSTANCES, RESETTABLE, REVERTABLE
from servers.volumes.domain.volumes import VolumeRequest, extend_problems, metadata_reasons
from servers.volumes.selectors.backups import snapshots_wanted
from servers.volumes.selectors.volume_types import type_rules
from servers.volumes.selectors.volumes import snapshot_get, volume_get
from servers.volumes.services.abilities import ability_require, room_refusal
from servers.volumes.services.claims import volume_claim, volume_claim_resize
from servers.volumes.services.copies import snapshot_held, volume_held
from servers.volumes.services.deletion import volume_deletion_begin
from servers.volumes.services.hints import volumes_changed
from servers.volumes.services.new_volumes import pool_request, volume_add, volume_plan
from servers.volumes.services.notifications import emit_volume
from servers.volumes.services.quota import volumes_quota_require
from servers.volumes.services.retype import retype_give_up
from servers.volumes.services.state import volume_state_force, volume_state_set
from servers.volumes.services.uploads import upload_give_up
from servers.volumes.services.work import volume_work_begin

CHANGEABLE = ("name", "description", "metadata", "is_bootable", "is_read_only")


@audited("volume.create", Volume)
def volume_create(*, caller: Caller, request: VolumeRequest) -> Volume:
    """A new volume of the caller's project, `creating` until a host has made it.

    Row, claim and work are written together, or nothing is. Raises InvalidFields, Forbidden, QuotaExceeded; what
    `volume_plan` raises; NoValidBackend, and PoolUnreachable where the chosen pool's hosts are down.
    """
    if request.pool:
        require(caller, "volumes:choose_pool")
    return in_transaction(lambda: _create(caller, request))


def _create(caller: Caller, request: VolumeRequest) -> Volume:
    quota_lock(caller.project_id)
    plan = volume_plan(caller=caller, request=request)
    volumes_quota_require(project_id=caller.project_id, volumes=1, gib=plan.size_gib)
    row = volume_add(plan, project_id=caller.project_id, user_id=caller.user_id)
    try:
        row.pool = volume_claim(volume=row, wanted=pool_request(plan))
    except NoValidBackend as error:
        raise error if caller.is_admin else error.for_owner() from error
    row.save(update_fields=["pool"])
    volume_work_begin(kind=VolumeWorkKind.VOLUME_CREATE, subject=row.pk, volume=row)
    volumes_changed(row)
    emit_volume("create.start", row)
    return row


@audited("volume.update", Volume, by="volume_id")
def volume_update(*, caller: Caller | None, volume_id: uuid.UUID, changes: Mapping[str, Any]) -> Volume:
    """Change some of CHANGEABLE; what is left out stays, `metadata` is replaced as a whole.

    Raises VolumeNotFound, InvalidFields; VolumeAttached for `is_read_only`, which guests are told when they get it.
    """
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    refuse_if(
        {
            "name": text_reasons(changes.get("name", ""), maximum=255),
            "description": text_reasons(changes.get("description", ""), maximum=255),
            "metadata": metadata_reasons(changes.get("metadata", {})),
        }
    )

    def work() -> Volume:
        volume_get(caller=caller, volume_id=volume_id)
        row = volume_held(volume_id=volume_id)
        if changes.get("is_read_only", row.is_read_only) != row.is_read_only:
            _unattached_require(row)
        if changes:
            Volume.objects.filter(pk=row.pk).update(**changes, updated_at=Now())
        after = volume_get(caller=None, volume_id=volume_id)
        volumes_changed(after)
        emit_volume("update.end", after)
        return after

    return in_transaction(work)


@audited("volume.extend", Volume, by="volume_id")
def volume_extend(*, caller: Caller | None, volume_id: uuid.UUID, size_gib: int) -> Volume:
    """Have the volume grow to so many GiB. One that a guest has grows there, where its pool can do that.

    Raises VolumeNotFound, InvalidFields, QuotaExceeded, InvalidVolume, PoolCannot, NoCapacity, PoolUnreachable.
    """
    return in_transaction(lambda: _extend(caller, volume_id, size_gib))


def _extend(caller: Caller | None, volume_id: uuid.UUID, size_gib: int) -> Volume:
    quota_lock(volume_get(caller=caller, volume_id=volume_id).project_id)
    row = volume_held(volume_id=volume_id)
    refuse_if(extend_problems(size_gib, now_gib=row.size_gib, rules=type_rules(row.volume_type)))
    if row.state == VolumeState.IN_USE:
        ability_require(row, PoolAbility.EXTEND_ATTACHED, "grow while an instance has it")
    volumes_quota_require(project_id=row.project_id, gib=size_gib - row.size_gib)
    after = volume_state_set(
        volume_id=row.pk, after=VolumeState.EXTENDING, before=EXTENDABLE, wanted_gib=size_gib, fault=""
    )
    try:
        volume_claim_resize(volume=after, size_gib=size_gib)
    except NoCapacity as error:
        raise room_refusal(caller, row, size_gib, error) from error
    volume_work_begin(
        kind=VolumeWorkKind.VOLUME_EXTEND, subject=after.pk, volume=after, arguments={"size_gib": str(size_gib)}
    )
    emit_volume("resize.start", after)
    return after


@audited("volume.revert", Volume, by="volume_id", also=("snapshot_id",))
def volume_revert(*, caller: Caller | None, volume_id: uuid.UUID, snapshot_id: uuid.UUID) -> Volume:
    """Have a volume that nobody has go back to the newest of its snapshots.

    Raises VolumeNotFound, SnapshotNotFound, SnapshotIsNotLatest, InvalidVolume, InvalidSnapshot, PoolCannot,
    PoolUnreachable.
    """

    def work() -> Volume:
        volume_get(caller=caller, volume_id=volume_id)
        snapshot_get(caller=caller, snapshot_id=snapshot_id)
        row, snapshot = volume_held(volume_id=volume_id), snapshot_held(snapshot_id=snapshot_id)
        _revertable_require(row, snapshot)
        after = volume_state_set(volume_id=row.pk, after=VolumeState.REVERTING, before=REVERTABLE, fault="")
        volume_work_begin(
            kind=VolumeWorkKind.VOLUME_REVERT,
            subject=after.pk,
            volume=after,
            arguments={"snapshot_id": str(snapshot.pk)},
        )
        emit_volume("revert.start", after)
        return after

    return in_transaction(work)


def _revertable_require(volume: Volume, snapshot: VolumeSnapshot) -> None:
    newest = snapshots_wanted(volume).order_by("-created_at", "-id").first()
    if newest is None or newest.pk != snapshot.pk:
        raise SnapshotIsNotLatest(
            _("Snapshot {snapshot} is not the newest one of volume {volume}.", snapshot=snapshot, volume=volume),
            field="snapshot",
        )
    if snapshot.state != VolumeSnapshotState.AVAILABLE:
        raise InvalidSnapshot(
            _("Snapshot {snapshot} is {state}, not available.", snapshot=snapshot, state=snapshot.state),
            state=snapshot.state,
        )
    if snapshot.size_gib != volume.size_gib:
        raise InvalidSnapshot(
            _(
                "Snapshot {snapshot} is of {size_gib} GiB, and volume {volume} has {volume_size_gib} "
                "now: make a volume of the snapshot instead.",
                snapshot=snapshot,
                size_gib=snapshot.size_gib,
                volume=volume,
                volume_size_gib=volume.size_gib,
            ),
            field="snapshot",
        )
    ability_require(volume, PoolAbility.REVERT, "go back to a snapshot")
    _unattached_require(volume)


@audited("volume.delete", Volume, by="volume_id", also=("with_snapshots", "is_forced"))
def volume_delete(
    *, caller: Caller | None, volume_id: uuid.UUID, with_snapshots: bool = False, is_forced: bool = False
) -> None:
    """Have nothing of the volume. The row goes when a host has removed the bytes; asked twice, it is once.

    `with_snapshots`: these go before it. `is_forced`, for administrators: in any state, what is under way is given up;
    one that no host can reach goes without its bytes, which are found and removed when its host returns.
    Raises VolumeNotFound, Forbidden, InvalidVolume, VolumeAttached, VolumeHasSnapshots, PoolUnreachable.
    """
    if is_forced and caller is not None:
        require(caller, "volumes:force_delete")
    volume_get(caller=caller, volume_id=volume_id)
    in_transaction(
        lambda: volume_deletion_begin(volume_id=volume_id, with_snapshots=with_snapshots, is_forced=is_forced)
    )


@audited("volume.reset_state", Volume, by="volume_id")
def volume_reset_state(*, volume_id: uuid.UUID, state: VolumeState) -> Volume:
    """Write a state by hand, for administrators, which the policy of the door decides. What is under way is given up.

    Raises VolumeNotFound, InvalidFields; VolumeAttached and InvalidVolume for what the attachments contradict.
    """
    if state not in RESETTABLE:
        allowed = ", ".join(sorted(one.value for one in RESETTABLE))
        raise InvalidFields(
            {"state": [_("{state} cannot be set by hand; these can: {allowed}.", state=state.value, allowed=allowed)]}
        )

    def work() -> Volume:
        work_lock(subject=volume_id)
        row = volume_held(volume_id=volume_id)
        has_instances = VolumeAttachment.objects.filter(volume=row).exists()
        if has_instances and state is VolumeState.AVAILABLE:
            _unattached_require(row)
        if not has_instances and state in OF_INSTANCES:
            raise InvalidVolume(
                _("No instance has volume {row}: it cannot be {state}.", row=row, state=state.value), field="state"
            )
        work_cancel(subject=row.pk)
        VolumeTransfer.objects.filter(volume=row).delete()
        if row.wanted_gib:
            volume_claim_resize(volume=row, size_gib=row.size_gib)
        retype_give_up(row)
        if row.state == VolumeState.UPLOADING:
            upload_give_up(row)
        after = volume_state_force(volume_id=row.pk, after=state, wanted_gib=0)
        emit_volume("update.end", after)
        return after

    return in_transaction(work)


def _unattached_require(volume: Volume) -> None:
    instances = VolumeAttachment.objects.filter(volume=volume).values_list("instance_uuid", flat=True)
    if names := sorted(str(one) for one in instances):
        raise VolumeAttached(
            _("Volume {volume} is attached to {count} instances: detach it first.", volume=volume, count=len(names))
            if len(names) > 1
            else _("Volume {volume} is attached to instance {names}: detach it first.", volume=volume, names=names[0]),
            instances=names,
        )
