"""Snapshots of volumes are made, changed and removed here. A caller of None is the control plane itself."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from servers.models import VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.errors import InvalidSnapshot, InvalidVolume, PoolCannot
from servers.volumes.domain.states import AttachmentState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import SNAPSHOT_RESETTABLE, SNAPSHOTTABLE
from servers.volumes.domain.volumes import metadata_reasons
from servers.volumes.selectors.volumes import snapshot_get, volume_get
from servers.volumes.services.abilities import ability_require, room_refusal, takes_a_moment
from servers.volumes.services.copies import snapshot_held, volume_held
from servers.volumes.services.deletion import snapshot_deletion_begin
from servers.volumes.services.hints import volumes_changed
from servers.volumes.services.notifications import emit_snapshot
from servers.volumes.services.quota import volumes_quota_require
from servers.volumes.services.snapshot_claims import snapshot_claim
from servers.volumes.services.state import snapshot_state_force
from servers.volumes.services.work import volume_work_begin

CHANGEABLE = ("name", "description", "metadata")


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """A snapshot that is wanted."""

    volume_id: uuid.UUID
    name: str = ""
    description: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    id: uuid.UUID = field(default_factory=uuid.uuid4)


@audited("volume_snapshot.create", VolumeSnapshot)
def snapshot_create(*, caller: Caller | None, request: SnapshotRequest) -> VolumeSnapshot:
    """A new snapshot, `creating` until a host has made it. Of a volume that a running guest has, that guest's
    hypervisor makes it, with its file systems standing still where the guest helps with that.

    Raises VolumeNotFound, InvalidFields, QuotaExceeded, InvalidVolume, PoolCannot, NoCapacity, PoolUnreachable.
    """
    refuse_if(_problems({"name": request.name, "description": request.description, "metadata": request.metadata}))
    return in_transaction(lambda: _create(caller, request))


def _create(caller: Caller | None, request: SnapshotRequest) -> VolumeSnapshot:
    quota_lock(volume_get(caller=caller, volume_id=request.volume_id).project_id)
    volume = volume_held(volume_id=request.volume_id)
    if VolumeState(volume.state) not in SNAPSHOTTABLE:
        raise InvalidVolume(
            _(
                "Volume {volume} is {state}: it must be available or in-use for this.",
                volume=volume,
                state=volume.state,
            ),
            field="volume",
            state=volume.state,
        )
    if volume.state == VolumeState.IN_USE:
        _attached_require(volume.pk)
        ability_require(volume, PoolAbility.SNAPSHOT_ATTACHED, "have a snapshot while an instance has it")
        having = VolumeAttachment.objects.filter(volume=volume).count()
        if having > 1 and not takes_a_moment(volume):
            raise PoolCannot(
                _(
                    "{having} instances write to volume {volume}, and its pool has no bytes of one moment of it.",
                    having=having,
                    volume=volume,
                ),
                ability=PoolAbility.SNAPSHOT_ATTACHED.value,
            )
    volumes_quota_require(project_id=volume.project_id, snapshots=1, gib=volume.size_gib)
    row = VolumeSnapshot.objects.create(
        id=request.id,
        volume=volume,
        project_id=volume.project_id,
        user_id=volume.user_id if caller is None else caller.user_id,
        name=request.name,
        description=request.description,
        metadata=dict(request.metadata),
        size_gib=volume.size_gib,
        state=VolumeSnapshotState.CREATING.value,
    )
    try:
        snapshot_claim(snapshot=row)
    except NoCapacity as error:
        raise room_refusal(caller, volume, row.size_gib, error) from error
    volume_work_begin(kind=VolumeWorkKind.VOLUME_SNAPSHOT_CREATE, subject=row.pk, volume=volume)
    volumes_changed(volume)
    emit_snapshot("create.start", row)
    return row


def _attached_require(volume_id: uuid.UUID) -> None:
    """An attachment that comes or goes is waited for: the volume is `in-use` meanwhile where several instances may
    have it.
    """
    moving = VolumeAttachment.objects.filter(volume=volume_id).exclude(state=AttachmentState.ATTACHED).first()
    if moving is not None:
        raise InvalidVolume(
            _(
                "The volume's attachment to instance {instance_uuid} is {state}.",
                instance_uuid=moving.instance_uuid,
                state=moving.state,
            )
        )


@audited("volume_snapshot.update", VolumeSnapshot, by="snapshot_id")
def snapshot_update(*, caller: Caller | None, snapshot_id: uuid.UUID, changes: Mapping[str, Any]) -> VolumeSnapshot:
    """Change some of CHANGEABLE; `metadata` is replaced as a whole. Raises SnapshotNotFound, InvalidFields."""
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    refuse_if(_problems(changes))

    def work() -> VolumeSnapshot:
        row = snapshot_get(caller=caller, snapshot_id=snapshot_id)
        if changes:
            VolumeSnapshot.objects.filter(pk=row.pk).update(**changes, updated_at=Now())
        after = snapshot_get(caller=None, snapshot_id=snapshot_id)
        volumes_changed(after.volume)
        emit_snapshot("update.end", after)
        return after

    return in_transaction(work)


def _problems(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        "name": text_reasons(fields.get("name", ""), maximum=255),
        "description": text_reasons(fields.get("description", ""), maximum=255),
        "metadata": metadata_reasons(fields.get("metadata", {})),
    }


@audited("volume_snapshot.delete", VolumeSnapshot, by="snapshot_id")
def snapshot_delete(*, caller: Caller | None, snapshot_id: uuid.UUID, is_forced: bool = False) -> None:
    """Have nothing of the snapshot. Volumes that were made of it go on. The row goes when a host has removed the bytes;
    asked twice, it is once. `is_forced`, for administrators: in any state, as of a volume.

    Raises SnapshotNotFound, Forbidden, InvalidSnapshot.
    """
    if is_forced and caller is not None:
        require(caller, "volumes:force_delete")
    snapshot_get(caller=caller, snapshot_id=snapshot_id)
    in_transaction(lambda: snapshot_deletion_begin(snapshot_id=snapshot_id, is_forced=is_forced))


@audited("volume_snapshot.reset_state", VolumeSnapshot, by="snapshot_id")
def snapshot_reset_state(*, snapshot_id: uuid.UUID, state: VolumeSnapshotState) -> VolumeSnapshot:
    """Write a state by hand, for administrators, which the policy of the door decides. What is under way is given up.

    Raises SnapshotNotFound, InvalidFields.
    """
    if state not in SNAPSHOT_RESETTABLE:
        allowed = ", ".join(sorted(one.value for one in SNAPSHOT_RESETTABLE))
        raise InvalidFields(
            {"state": [_("{state} cannot be set by hand; these can: {allowed}.", state=state.value, allowed=allowed)]}
        )

    def work() -> VolumeSnapshot:
        work_lock(subject=snapshot_id)
        row = snapshot_held(snapshot_id=snapshot_id)
        if row.volume.state == VolumeState.DELETING:
            raise InvalidSnapshot(
                _("Volume {volume} is being deleted with its snapshots.", volume=row.volume), state=row.state
            )
        work_cancel(subject=row.pk)
        return snapshot_state_force(snapshot_id=row.pk, after=state)

    return in_transaction(work)
