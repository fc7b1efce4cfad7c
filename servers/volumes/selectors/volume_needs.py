"""What volumes ask of the host of their instance, for the scheduler: pools that it has to reach, with their room."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from django.db.models import QuerySet

from computeagent.protocol.volumes import PoolAbility
from scheduling.domain.request.volume_needs import PoolRoom, VolumeNeed
from servers.models import StoragePool, Volume, VolumeAttachment, VolumeSnapshot, VolumeType
from servers.volumes.domain.block_devices import BlockDevice, SourceType
from servers.volumes.domain.pool_choice import PoolFacts, PoolRequest, pool_refusal
from servers.volumes.domain.pools import pool_trait
from servers.volumes.selectors.pool_facts import pool_facts


def volume_needs(devices: Sequence[BlockDevice]) -> tuple[VolumeNeed, ...]:
    """The needs of an instance that is to be built with these disks. Ten queries at most, however many pools there are;
    without volumes none.
    """
    named = [one.source_id for one in devices if one.is_named_volume and one.source_id]
    made = [one for one in devices if one.makes_volume]
    return (*(_of_volumes(Volume.objects.filter(pk__in=named)) if named else ()), *_of_new(made))


def attached_volume_needs(instance_uuid: uuid.UUID) -> tuple[VolumeNeed, ...]:
    """The needs of an instance that has these volumes already, and is placed anew. One query."""
    mine = VolumeAttachment.objects.filter(instance_uuid=instance_uuid).values("volume")
    return _of_volumes(Volume.objects.filter(pk__in=mine))


def volume_needs_now(needs: Sequence[VolumeNeed]) -> tuple[VolumeNeed, ...]:
    """The same needs with what the same pools have now."""
    if not any(need.gib for need in needs):
        return tuple(needs)
    rooms = {pool_trait(pool.id): _room(pool) for pool in pool_facts()}
    return tuple(
        replace(need, pools={trait: rooms[trait] for trait in need.pools if trait in rooms}) if need.gib else need
        for need in needs
    )


def _of_volumes(volumes: QuerySet[Volume]) -> tuple[VolumeNeed, ...]:
    rows = volumes.select_related("pool").order_by("pk")
    return tuple(VolumeNeed(f"volume {volume}", _rooms([volume.pool] if volume.pool else [])) for volume in rows)


def _of_new(made: Sequence[BlockDevice]) -> tuple[VolumeNeed, ...]:
    if not made:
        return ()
    types = VolumeType.objects.in_bulk([one.volume_type_id for one in made if one.volume_type_id])
    of_snapshots = _pools_of_snapshots([one for one in made if one.source_type is SourceType.SNAPSHOT])
    facts = pool_facts()
    needs = []
    for one in made:
        volume_type = types.get(one.volume_type_id) if one.volume_type_id else None
        # Whether it has the room is said host by host, with numbers.
        wanted = replace(_pool_request(volume_type), pool_id=of_snapshots.get(one.source_id) if one.source_id else None)
        rooms = {pool_trait(pool.id): _room(pool) for pool in facts if pool_refusal(wanted, pool) is None}
        words = f"a new volume of {one.size_gib} GiB" + (f", type {volume_type.name}" if volume_type else "")
        needs.append(VolumeNeed(words, rooms, one.size_gib))
    return tuple(needs)


def _room(pool: PoolFacts) -> PoolRoom:
    hosts = "" if pool.is_shared else f" of {', '.join(sorted(pool.hosts))}"
    return PoolRoom(f"{pool.name}{hosts}", min(pool.free_gib, int(pool.measured_free_gib * pool.allocation_ratio)))


def _pool_request(volume_type: VolumeType | None) -> PoolRequest:
    if volume_type is None:
        return PoolRequest(size_gib=0)
    wanted = {PoolAbility.ENCRYPT: volume_type.is_encrypted, PoolAbility.MULTI_ATTACH: volume_type.is_multiattach}
    return PoolRequest(
        size_gib=0,
        type_name=volume_type.name,
        pools=tuple(volume_type.pools),
        kinds=tuple(volume_type.kinds),
        abilities=frozenset(ability for ability, is_wanted in wanted.items() if is_wanted),
    )


def _pools_of_snapshots(made: Sequence[BlockDevice]) -> Mapping[uuid.UUID, uuid.UUID | None]:
    """A volume of a snapshot is in the pool where the snapshot is."""
    ids = [one.source_id for one in made]
    return dict(VolumeSnapshot.objects.filter(pk__in=ids).values_list("pk", "volume__pool")) if ids else {}


def _rooms(pools: Iterable[StoragePool]) -> dict[str, PoolRoom]:
    return {pool_trait(pool.pk): PoolRoom(str(pool)) for pool in pools}
