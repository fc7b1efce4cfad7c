"""How a request becomes a row: its type, its source and its size are judged here, for whoever makes volumes.

`volume_plan` looks and judges, `volume_add` writes. Both are called in one transaction, so that the source stays what
it was: its row is locked.
"""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from computeagent.protocol.volumes import PoolAbility, VolumeSourceKind
from controlplane.identity.domain import Caller
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if
from servers.images.domain.images import ImageStatus
from servers.images.selectors import image_for_instance, image_snapshot
from servers.models import Image, StoragePool, Volume, VolumeBackup, VolumeSnapshot, VolumeType
from servers.volumes.domain.errors import BackupNotFound, InvalidSnapshot, InvalidVolume, PoolCannot
from servers.volumes.domain.pool_choice import PoolRequest
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import CLONABLE
from servers.volumes.domain.volumes import (
    NO_SOURCE_FACTS,
    SourceFacts,
    VolumeRequest,
    gib_of,
    qos_of,
    size_chosen,
    size_problems,
    volume_problems,
)
from servers.volumes.selectors.volume_types import type_rules, volume_type_default, volume_type_named
from servers.volumes.selectors.volumes import snapshot_get, volume_get
from servers.volumes.services.abilities import takes_a_moment
from servers.volumes.services.copies import snapshot_held, volume_held
from servers.volumes.services.keys import volume_key_copy, volume_key_make


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """A request that was judged. `pool`: the one that it has to be in, where its source is in it. `key_of`: whose
    passphrase its bytes will have, where they are a copy of encrypted ones.
    """

    request: VolumeRequest
    size_gib: int
    volume_type: VolumeType | None
    is_encrypted: bool
    is_bootable: bool
    image: Mapping[str, Any] = field(default_factory=dict)
    pool: StoragePool | None = None
    key_of: uuid.UUID | None = None

    @property
    def is_multiattach(self) -> bool:
        """Whether several instances may have it."""
        return self.volume_type is not None and self.volume_type.is_multiattach

    @property
    def abilities(self) -> frozenset[PoolAbility]:
        """What its pool must be able to do."""
        wanted = {PoolAbility.MULTI_ATTACH: self.is_multiattach, PoolAbility.ENCRYPT: self.is_encrypted}
        return frozenset(ability for ability, is_wanted in wanted.items() if is_wanted)


@dataclass(frozen=True, slots=True)
class _Source:
    facts: SourceFacts = NO_SOURCE_FACTS
    volume_type: VolumeType | None = None
    is_bootable: bool = False
    is_encrypted: bool | None = None
    image: Mapping[str, Any] = field(default_factory=dict)
    pool: StoragePool | None = None
    key_of: uuid.UUID | None = None


def volume_plan(*, caller: Caller | None, request: VolumeRequest) -> VolumePlan:
    """Judge a request; without a caller every type and source is open to it. In the transaction that writes the row.

    Raises InvalidFields; what names a type, image, snapshot, volume or backup that there is not, or that is in no state
    for this; PoolCannot where a copy would have to be of another kind than its source.
    """
    refuse_if(volume_problems(request))
    source = _source(caller, request)
    volume_type = source.volume_type or volume_type_default()
    if request.volume_type:
        volume_type = volume_type_named(caller=caller, reference=request.volume_type)
    is_encrypted = volume_type is not None and volume_type.is_encrypted
    if source.is_encrypted is not None and source.is_encrypted != is_encrypted:
        one, other = (
            gettext_noop("{source} is encrypted, and volumes of type {volume_type} are not: choose another type."),
            gettext_noop(
                "{source} is not encrypted, and volumes of type {volume_type} are encrypted: choose another type."
            ),
        )
        words = one if source.is_encrypted else other
        if volume_type is None:
            words = gettext_noop("{source} is encrypted, and volumes without a type are not: choose a type.")
        said = Phrase(words, source=source.facts.words, volume_type=volume_type)
        raise Invalid(said, field="volume_type")
    size_gib = size_chosen(request.size_gib, source.facts)
    refuse_if(size_problems(size_gib, rules=type_rules(volume_type), source=source.facts))
    return VolumePlan(
        request=request,
        size_gib=size_gib,
        volume_type=volume_type,
        is_encrypted=is_encrypted,
        is_bootable=source.is_bootable,
        image=source.image,
        pool=source.pool,
        key_of=source.key_of,
    )


def _source(caller: Caller | None, request: VolumeRequest) -> _Source:
    if request.source_id is None:
        return _Source()
    match request.source_kind:
        case VolumeSourceKind.IMAGE:
            return _of_image(_image(caller, request.source_id))
        case VolumeSourceKind.SNAPSHOT:
            snapshot_get(caller=caller, snapshot_id=request.source_id)
            return _of_snapshot(snapshot_held(snapshot_id=request.source_id))
        case VolumeSourceKind.VOLUME:
            volume_get(caller=caller, volume_id=request.source_id)
            return _of_volume(volume_held(volume_id=request.source_id))
        case VolumeSourceKind.BACKUP:
            return _of_backup(caller, request.source_id)
        case _:
            return _Source()


def _image(caller: Caller | None, image_id: uuid.UUID) -> Image:
    if caller is not None:
        return image_for_instance(caller=caller, reference=str(image_id))
    image = Image.objects.filter(pk=image_id, status=ImageStatus.ACTIVE).first()
    if image is None:
        raise Invalid(_("Image {image_id} does not exist, or is not active.", image_id=image_id), field="image")
    return image


def _of_image(image: Image) -> _Source:
    min_gib = max(image.min_disk_gib, gib_of(image.virtual_size_bytes or image.size_bytes), 1)
    facts = SourceFacts(min_gib, f"Image {image.name}")
    return _Source(facts=facts, is_bootable=True, image=image_snapshot(image))


def _of_snapshot(snapshot: VolumeSnapshot) -> _Source:
    if snapshot.state != VolumeSnapshotState.AVAILABLE:
        raise InvalidSnapshot(
            _("Snapshot {snapshot} is {state}, not available.", snapshot=snapshot, state=snapshot.state),
            field="source_id",
            state=snapshot.state,
        )
    return _copy(snapshot.volume, SourceFacts(snapshot.size_gib, f"Snapshot {snapshot}"))


def _of_volume(volume: Volume) -> _Source:
    if VolumeState(volume.state) not in CLONABLE:
        raise InvalidVolume(
            _(
                "Volume {volume} is {state}: it must be available or in-use for this.",
                volume=volume,
                state=volume.state,
            ),
            field="source_id",
            state=volume.state,
        )
    if volume.state == VolumeState.IN_USE and not takes_a_moment(volume):
        raise PoolCannot(
            _(
                "An instance has volume {volume}, and its pool copies only what nobody writes to: "
                "make a snapshot of it, and the new volume of that.",
                volume=volume,
            ),
            field="source_id",
            ability=PoolAbility.CLONE.value,
        )
    return _copy(volume, SourceFacts(volume.size_gib, f"Volume {volume}"))


def _copy(volume: Volume, facts: SourceFacts) -> _Source:
    return _Source(
        facts=facts,
        volume_type=volume.volume_type,
        is_bootable=volume.is_bootable,
        is_encrypted=volume.is_encrypted,
        image=volume.image,
        pool=volume.pool,
        key_of=volume.pk if volume.is_encrypted else None,
    )


def _of_backup(caller: Caller | None, backup_id: uuid.UUID) -> _Source:
    rows = VolumeBackup.objects.select_for_update().filter(pk=backup_id)
    if caller is not None and not caller.is_admin:
        rows = rows.filter(project_id=caller.project_id)
    backup = rows.first()
    if backup is None:
        raise BackupNotFound(_("Backup {backup_id} does not exist.", backup_id=backup_id), field="source_id")
    if backup.state != BackupState.AVAILABLE:
        raise InvalidVolume(
            _("Backup {backup} is {state}, not available.", backup=backup, state=backup.state),
            field="source_id",
            state=backup.state,
        )
    return _Source(
        facts=SourceFacts(backup.size_gib, f"Backup {backup}"),
        volume_type=backup.volume_type,
        is_bootable=bool(backup.image),
        is_encrypted=backup.is_encrypted,
        image=backup.image,
        key_of=backup.pk if backup.is_encrypted else None,
    )


def pool_request(plan: VolumePlan, *, host: str = "") -> PoolRequest:
    """What the planned volume asks of its pool. `host`: one that has to reach it."""
    volume_type, request = plan.volume_type, plan.request
    return PoolRequest(
        size_gib=plan.size_gib,
        type_name=volume_type.name if volume_type else "",
        pools=tuple(volume_type.pools if volume_type else ()),
        kinds=tuple(volume_type.kinds if volume_type else ()),
        abilities=plan.abilities,
        pool=request.pool,
        pool_id=plan.pool.pk if plan.pool else None,
        host=host,
        zone=request.availability_zone,
    )


def volume_add(
    plan: VolumePlan, *, project_id: uuid.UUID, user_id: uuid.UUID, instance_uuid: uuid.UUID | None = None
) -> Volume:
    """Write the row of a planned volume, `creating` and in no pool yet, and the passphrase of an encrypted one.

    `instance_uuid`: of the instance in whose build it is made.
    """
    request = plan.request
    row = Volume.objects.create(
        id=request.id,
        project_id=project_id,
        user_id=user_id,
        name=request.name,
        description=request.description,
        metadata=dict(request.metadata),
        size_gib=plan.size_gib,
        volume_type=plan.volume_type,
        state=VolumeState.CREATING.value,
        is_bootable=plan.is_bootable,
        is_multiattach=plan.is_multiattach,
        is_encrypted=plan.is_encrypted,
        is_read_only=request.is_read_only,
        qos=qos_stored(plan.volume_type, plan.size_gib),
        source_kind=request.source_kind.value,
        source_id=request.source_id,
        image=dict(plan.image),
        availability_zone=request.availability_zone,
        instance_uuid=instance_uuid,
        request_id=current_request_id(),
    )
    if plan.key_of is not None:
        volume_key_copy(owner_id=row.pk, of=plan.key_of)
    elif plan.is_encrypted:
        volume_key_make(owner_id=row.pk)
    return row


def qos_stored(volume_type: VolumeType | None, size_gib: int) -> dict[str, int]:
    """The limits that a volume's row has: those that are set."""
    return {name: value for name, value in asdict(qos_of(type_rules(volume_type), size_gib)).items() if value}
