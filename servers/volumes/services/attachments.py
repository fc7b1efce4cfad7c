"""Which instance has which volume: promised, given, taken back. All in the caller's transaction.

The row is there before a host is asked, and goes when its host said that the guest let go of the disk. A constraint of
the database keeps a volume from a second instance; the states of volumes follow the attachments, and only here.
"""

import uuid
from collections.abc import Collection, Sequence

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from computeagent.protocol.volumes import PoolAbility
from controlplane.kernel.texts import phrase as _
from servers.models import BlockDeviceMapping, Volume, VolumeAttachment
from servers.volumes.domain.attachments import (
    ATTACHMENT_STATES,
    AttachmentRequest,
    volume_state_of,
    why_not_reserved,
)
from servers.volumes.domain.errors import InvalidVolume, PoolCannot, VolumeAttached, VolumeNotFound
from servers.volumes.domain.states import AttachmentState, VolumeState
from servers.volumes.services.copies import volume_held, volume_uncopied_require
from servers.volumes.services.hints import volumes_changed
from servers.volumes.services.state import volume_state_try

_A = AttachmentState
NOT_IN_GUEST = _("The guest does not have the disk now. It has it after its next start.")
"""The problem of an attached volume that the host does not find in the guest, which is on."""
GOT_UNSAID = _("Its host did not say whether the guest got the disk.")
LOST_UNSAID = _("Its host did not say whether the guest lost the disk.")
NOT_LOST = _("It was to be detached, and the guest has it still.")
UNDER_WAY = (AttachmentState.RESERVED, AttachmentState.ATTACHING)
MOVING = (AttachmentState.ATTACHING, AttachmentState.DETACHING)
"""A host is at it, as long as there is work on the instance."""


def volumes_reserve(
    *, project_id: uuid.UUID, instance_uuid: uuid.UUID, wanted: Sequence[AttachmentRequest]
) -> list[VolumeAttachment]:
    """Promise these volumes of the project to the instance. A promise that it has already is left as it is. Of a volume
    that can only be read each attachment is read-only, whatever was asked.

    Raises VolumeNotFound, InvalidVolume, VolumeAttached, PoolCannot; then nothing is promised.
    """
    ids = [one.volume_id for one in wanted]
    rows = Volume.objects.select_for_update(of=("self",)).select_related("pool").order_by("pk")
    volumes = {row.pk: row for row in rows.filter(pk__in=ids, project_id=project_id)}
    held = VolumeAttachment.objects.filter(volume__in=ids, instance_uuid=instance_uuid)
    own = {row.volume_id: row for row in held}
    made = []
    for one in wanted:
        volume = volumes.get(one.volume_id)
        if volume is None:
            raise VolumeNotFound(_("Volume {volume_id} does not exist.", volume_id=one.volume_id), field="volume")
        if one.volume_id in own:
            made.append(own[one.volume_id])
            continue
        _require(volume, one)
        made.append(_promise(volume, instance_uuid, one))
    states_follow(ids)
    return made


def _require(volume: Volume, one: AttachmentRequest) -> None:
    state = VolumeState(volume.state)
    why = why_not_reserved(state, is_multiattach=volume.is_multiattach, is_being_made=one.is_being_made)
    if why:
        raise InvalidVolume(_("Volume {volume} {why}.", volume=volume, why=why), field="volume", state=volume.state)
    volume_uncopied_require(volume)
    if volume.pool is None and not one.is_being_made:
        raise InvalidVolume(_("Volume {volume} is in no pool.", volume=volume), field="volume", state=volume.state)
    if volume.is_multiattach and not _can_share(volume) and volume.attachments.exists():
        raise PoolCannot(
            _("The pool of volume {volume} lets one instance alone have it, and another one does.", volume=volume),
            ability=PoolAbility.MULTI_ATTACH.value,
        )


def _can_share(volume: Volume) -> bool:
    """Whether several instances may have it at a time: its type and its pool decide."""
    return volume.is_multiattach and (volume.pool is None or PoolAbility.MULTI_ATTACH in volume.pool.abilities)


def _promise(volume: Volume, instance_uuid: uuid.UUID, one: AttachmentRequest) -> VolumeAttachment:
    try:
        with transaction.atomic():
            return VolumeAttachment.objects.create(
                volume=volume,
                instance_uuid=instance_uuid,
                is_shared=_can_share(volume),
                is_read_only=one.is_read_only or volume.is_read_only,
                device=one.device,
            )
    except IntegrityError as error:
        instances = list(volume.attachments.values_list("instance_uuid", flat=True))
        raise VolumeAttached(
            _("Volume {volume} is another instance's.", volume=volume),
            field="volume",
            instances=[str(each) for each in instances],
        ) from error


def attachment_begin(attachment_id: uuid.UUID, state: AttachmentState) -> None:
    """Its host is asked to attach or detach it from now on. Raises InvalidVolume for detaching what the guest's own
    hypervisor copies just now.
    """
    if state is AttachmentState.DETACHING:
        for volume_id in VolumeAttachment.objects.filter(pk=attachment_id).values_list("volume_id", flat=True):
            volume_uncopied_require(volume_held(volume_id=volume_id))
    _set([attachment_id], state, problem="")


def attachments_activate(*, instance_uuid: uuid.UUID, attachment_id: uuid.UUID | None = None) -> None:
    """The host said that the guest has all that was promised, or this one."""
    rows = VolumeAttachment.objects.filter(instance_uuid=instance_uuid, state__in=UNDER_WAY)
    if attachment_id is not None:
        rows = VolumeAttachment.objects.filter(instance_uuid=instance_uuid, pk=attachment_id)
    _set(list(rows.values_list("pk", flat=True)), AttachmentState.ATTACHED, problem="", attached_at=Now())


def attachments_promise(*, instance_uuid: uuid.UUID) -> None:
    """The instance has left its host, and has its volumes again with its next one."""
    rows = VolumeAttachment.objects.filter(instance_uuid=instance_uuid)
    _set(list(rows.values_list("pk", flat=True)), AttachmentState.RESERVED, problem="", attached_at=None)


def attachment_keep(attachment_id: uuid.UUID, *, problem: str, state: AttachmentState) -> None:
    """The instance has it still, whatever was tried: ATTACHED, or ERROR where its guest may not have it."""
    _set([attachment_id], state, problem=problem)


def attachment_end_unsaid(attachment: VolumeAttachment, host: str) -> None:
    """Nobody says any more whether the guest on this host got the disk, or lost it: the volume stays the instance's,
    with the reason, until the host reports what the guest has, or somebody detaches it. On no host no guest has it.
    """
    is_coming = attachment.state == AttachmentState.ATTACHING
    if host:
        state, problem = (_A.ERROR, GOT_UNSAID) if is_coming else (_A.ATTACHED, LOST_UNSAID)
        attachment_keep(attachment.pk, problem=problem, state=state)
    elif is_coming:
        _set([attachment.pk], _A.RESERVED, problem="", attached_at=None)
    else:
        attachment_release(attachment_id=attachment.pk)


def attachment_release(*, attachment_id: uuid.UUID) -> None:
    """The instance does not have it any more. Doing it twice is doing it once."""
    _release(VolumeAttachment.objects.filter(pk=attachment_id))


def attachments_release(*, instance_uuid: uuid.UUID) -> list[uuid.UUID]:
    """The instance has no volumes any more. Returns those that were to be deleted with it, which are nobody's now."""
    rows = BlockDeviceMapping.objects.filter(instance_uuid=instance_uuid, delete_on_termination=True)
    doomed = list(rows.filter(volume_id__isnull=False).values_list("volume_id", flat=True))
    _release(VolumeAttachment.objects.filter(instance_uuid=instance_uuid))
    BlockDeviceMapping.objects.filter(instance_uuid=instance_uuid).delete()
    still_used = set(VolumeAttachment.objects.filter(volume__in=doomed).values_list("volume_id", flat=True))
    return [volume_id for volume_id in doomed if volume_id is not None and volume_id not in still_used]


def _release(attachments: QuerySet[VolumeAttachment]) -> None:
    found = list(attachments.values_list("pk", "volume_id", "instance_uuid"))
    for _rest, volume_id, instance_uuid in found:
        BlockDeviceMapping.objects.filter(instance_uuid=instance_uuid, volume_id=volume_id).delete()
    VolumeAttachment.objects.filter(pk__in=[pk for pk, _, _ in found]).delete()
    states_follow([volume_id for _, volume_id, _ in found])


def _set(ids: Collection[uuid.UUID], state: AttachmentState, **changes: object) -> None:
    if ids:
        rows = VolumeAttachment.objects.filter(pk__in=ids)
        rows.update(state=state.value, updated_at=Now(), **changes)
        states_follow(list(rows.values_list("volume_id", flat=True)))


def states_follow(volume_ids: Collection[uuid.UUID]) -> None:
    """The volumes' states say who has them. One that something else is done to (it is extended) is left alone: the end
    of that asks `state_by_attachments`.
    """
    for volume in Volume.objects.filter(pk__in=volume_ids).order_by("pk"):
        after = state_by_attachments(volume.pk)
        before = {VolumeState.CREATING} if after is VolumeState.IN_USE else set()
        if volume.state == after:
            volumes_changed(volume)
        elif volume.state in ATTACHMENT_STATES | before:
            volume_state_try(volume_id=volume.pk, after=after, before=ATTACHMENT_STATES | before)


def state_by_attachments(volume_id: uuid.UUID) -> VolumeState:
    """What the volume is by who has it."""
    states = VolumeAttachment.objects.filter(volume=volume_id).values_list("state", flat=True)
    return volume_state_of([AttachmentState(state) for state in states])
