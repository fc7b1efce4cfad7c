"""A volume gets another type: at once where its pool is one of that type's, else by a copy into one that is.

Invariant: a volume's bytes are in its `pool`. While it is `retyping` there is a copy of them in `wanted_pool`, of which
nobody reads, and which counts from the moment at which the row says so; `left_pool` names the pool in which the other
one is removed then, and the volume is moved nowhere before that is done.
"""

import uuid
from typing import Any

from django.db.models.functions import Now

from computeagent.protocol.volumes import PoolAbility, VolumeFacts, VolumeWorkKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.catalog.services.quota import quota_lock
from servers.fields import refuse_if
from servers.models import Volume, VolumeSnapshot, VolumeType
from servers.volumes.domain.errors import InvalidVolume, NoValidBackend, PoolUnreachable
from servers.volumes.domain.pool_choice import PoolRequest
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.volume_types import RetypeFacts, retype_refusal
from servers.volumes.domain.volumes import size_problems
from servers.volumes.selectors.pool_hosts import live_hosts
from servers.volumes.selectors.volume_types import type_rules, volume_type_named
from servers.volumes.selectors.volumes import volume_get
from servers.volumes.services.claims import held_in_pools, volume_claim_beside
from servers.volumes.services.copies import volume_held, volume_uncopied_require
from servers.volumes.services.hints import volumes_changed
from servers.volumes.services.limits import volume_limits_due
from servers.volumes.services.new_volumes import qos_stored
from servers.volumes.services.notifications import emit_volume
from servers.volumes.services.state import volume_state_set, volume_state_try
from servers.volumes.services.work import host_idlest, volume_work_begin

_V = VolumeState


@audited("volume.retype", Volume, by="volume_id", also=("volume_type", "may_move"))
def volume_retype(*, caller: Caller | None, volume_id: uuid.UUID, volume_type: str, may_move: bool = False) -> Volume:
    """Let the volume be of this type (name or id). Limits count at once, also for a guest that runs.

    `may_move`: where its pool has no volumes of the type, it is copied into one that has, `retyping` meanwhile; only
    while nobody has it. Raises VolumeNotFound, VolumeTypeNotFound, Invalid with the field, InvalidVolume,
    NoValidBackend, PoolUnreachable.
    """
    return in_transaction(lambda: _retype(caller, volume_id, volume_type, may_move=may_move))


def _retype(caller: Caller | None, volume_id: uuid.UUID, reference: str, *, may_move: bool) -> Volume:
    quota_lock(volume_get(caller=caller, volume_id=volume_id).project_id)
    row, after = volume_held(volume_id=volume_id), volume_type_named(caller=caller, reference=reference)
    fits = is_pool_of_type(row, after)
    field, why = retype_refusal(
        RetypeFacts(
            name=str(row),
            type_name=after.name,
            is_same=row.volume_type_id == after.pk,
            state=_V(row.state),
            is_encrypted=row.is_encrypted,
            becomes_encrypted=after.is_encrypted,
            is_multiattach=row.is_multiattach,
            becomes_multiattach=after.is_multiattach,
            fits=fits,
            may_move=may_move,
            snapshots=VolumeSnapshot.objects.filter(volume=row).count(),
            left_pool=str(row.left_pool_id or ""),
        )
    )
    if why and field == "state":
        raise InvalidVolume(why, field=field, state=row.state)
    if why:
        raise Invalid(why, field=field)
    refuse_if({"volume_type": size_problems(row.size_gib, rules=type_rules(after)).get("size_gib", [])})
    volume_uncopied_require(row)
    return _in_place(row, after) if fits else _move_begin(caller, row, after)


def is_pool_of_type(volume: Volume, volume_type: VolumeType) -> bool:
    """Whether volumes of the type may be where the volume is, and its pool can do what they need."""
    pool = volume.pool
    if pool is None:
        return False
    is_meant = (not volume_type.pools or pool.name in volume_type.pools) and (
        not volume_type.kinds or pool.kind in volume_type.kinds
    )
    return is_meant and all(one.value in pool.abilities for one in _abilities(volume_type))


def _abilities(volume_type: VolumeType) -> frozenset[PoolAbility]:
    wanted = {PoolAbility.MULTI_ATTACH: volume_type.is_multiattach, PoolAbility.ENCRYPT: volume_type.is_encrypted}
    return frozenset(ability for ability, is_wanted in wanted.items() if is_wanted)


def _in_place(row: Volume, after: VolumeType) -> Volume:
    Volume.objects.filter(pk=row.pk).update(**_of_type(row, after), updated_at=Now())
    volume_limits_due(row.pk)
    changed = volume_get(caller=None, volume_id=row.pk)
    volumes_changed(changed)
    emit_volume("retype", changed)
    return changed


def _of_type(volume: Volume, after: VolumeType) -> dict[str, Any]:
    """The columns that a type says."""
    return {
        "volume_type": after,
        "qos": qos_stored(after, volume.size_gib),
        "is_multiattach": after.is_multiattach,
    }


def _move_begin(caller: Caller | None, row: Volume, after: VolumeType) -> Volume:
    if row.pool is None:
        raise InvalidVolume(_("Volume {row} is in no pool.", row=row), state=row.state)
    hosts = live_hosts(row.pool)
    wanted = PoolRequest(
        size_gib=row.size_gib,
        type_name=after.name,
        pools=tuple(after.pools),
        kinds=tuple(after.kinds),
        abilities=_abilities(after),
        zone=row.availability_zone,
    )
    try:
        pool = volume_claim_beside(volume=row, wanted=wanted, hosts=hosts)
    except NoValidBackend as error:
        raise error if caller is None or caller.is_admin else error.for_owner() from error
    changed = volume_state_set(
        volume_id=row.pk, after=_V.RETYPING, before=[_V.AVAILABLE], wanted_type=after, wanted_pool=pool, fault=""
    )
    host = host_idlest(set(hosts) & set(live_hosts(pool)))
    volume_work_begin(kind=VolumeWorkKind.VOLUME_RETYPE, subject=row.pk, volume=changed, host=host)
    emit_volume("retype.start", changed)
    return changed


def volume_retype_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The copy is whole: it is the volume from now on, and what is in the pool of before goes."""
    row = Volume.objects.select_related("wanted_type").filter(pk=subject, state=_V.RETYPING).first()
    if row is None or row.wanted_pool_id is None or row.wanted_type is None:
        return
    after = volume_state_try(
        volume_id=subject,
        after=_V.AVAILABLE,
        before=[_V.RETYPING],
        pool_id=row.wanted_pool_id,
        left_pool_id=row.pool_id,
        wanted_pool=None,
        wanted_type=None,
        location=facts.location,
        used_bytes=facts.used_bytes or row.used_bytes,
        fault="",
        **_of_type(row, row.wanted_type),
    )
    if after is not None:
        held_in_pools(volume=after, pools=[row.wanted_pool_id])
        emit_volume("retype.end", after)
        leave_begin(after)


def volume_retype_failed(*, subject: uuid.UUID, message: str) -> None:
    """It is where and what it was; what was copied goes."""
    row = Volume.objects.filter(pk=subject, state=_V.RETYPING).first()
    if row is None:
        return
    retype_give_up(row)
    after = volume_state_try(volume_id=subject, after=_V.AVAILABLE, before=[_V.RETYPING], fault=message)
    if after is not None:
        emit_volume("retype.error", after, problem=message)
        leave_begin(after)


def retype_give_up(row: Volume) -> None:
    """Nobody copies the volume any more: it holds nothing in the other pool, and what is there goes. In the transaction
    that writes its state.
    """
    if row.wanted_pool_id is None:
        return
    Volume.objects.filter(pk=row.pk).update(left_pool_id=row.wanted_pool_id, wanted_pool=None, wanted_type=None)
    held_in_pools(volume=row, pools=[row.pool_id] if row.pool_id else [])


def leave_begin(volume: Volume) -> bool:
    """Have a host remove what the volume left in a pool; where none reaches that pool now, a later round does."""
    if volume.left_pool is None:
        return False
    try:
        volume_work_begin(kind=VolumeWorkKind.VOLUME_LEAVE, subject=volume.pk, volume=volume)
    except PoolUnreachable:
        return False
    return True


def volumes_leave_round() -> int:
    """Begin again what no work does. Returns how much."""
    begun = 0
    for volume in Volume.objects.select_related("left_pool", "pool").filter(left_pool__isnull=False)[:200]:
        open_work = Work.objects.filter(
            subject=volume.pk, kind=VolumeWorkKind.VOLUME_LEAVE.value, state__in=OPEN_STATES
        )
        if volume.state not in (_V.DELETING, _V.RETYPING) and not open_work.exists():
            begun += leave_begin(volume)
    return begun


def volume_leave_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """Nothing of it is there any more."""
    Volume.objects.filter(pk=subject).update(left_pool=None, updated_at=Now())


def volume_leave_failed(*, subject: uuid.UUID, message: str) -> None:
    """Something is there still: the round begins again, and the volume says so."""
    words = f"What it left in another pool could not be removed: {message}"
    Volume.objects.filter(pk=subject, left_pool__isnull=False).update(fault=words, updated_at=Now())
