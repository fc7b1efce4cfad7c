"""What volumes hold of their pools: `CUSTOM_VOLUME_GB` in Placement, each volume and snapshot as a consumer of its own.

The claim is Placement's atomic one: whatever runs side by side, no pool is promised beyond its capacity.
"""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import asdict

from controlplane.kernel.errors import Conflict, NoCapacity
from controlplane.kernel.texts import phrase as _
from placement.domain import UNCHECKED, Claim, ConsumerState
from placement.services import allocations_claim, allocations_free, allocations_replace
from servers.models import StoragePool, Volume
from servers.volumes.domain.errors import NoValidBackend
from servers.volumes.domain.pool_choice import (
    PoolReason,
    PoolRefusal,
    PoolRequest,
    pools_choose,
    refusals_words,
    space_refusal,
)
from servers.volumes.domain.pools import VOLUME_GB
from servers.volumes.selectors.pool_facts import pool_facts
from servers.volumes.selectors.pool_hosts import live_hosts

CONSUMER = "VOLUME"


def volume_claim(*, volume: Volume, wanted: PoolRequest) -> StoragePool:
    """Choose a pool for the volume and claim its size there, in the caller's transaction.

    The caller writes the pool into the volume's row. Raises NoValidBackend, which says of each pool why not.
    """
    choice = pools_choose(wanted, pool_facts(with_zones=bool(wanted.zone)))
    refusals = list(choice.refusals)
    for pool in choice.ranked:
        held = {pool.id: {VOLUME_GB: wanted.size_gib}}
        try:
            allocations_claim([Claim(volume.pk, volume.project_id, volume.user_id, held, consumer_type=CONSUMER)])
        except NoCapacity as error:  # others were quicker
            refusals.append(space_refusal(wanted, pool, free=int(error.extra.get("free", 0))))
        else:
            return StoragePool.objects.get(pk=pool.id)
    raise no_valid_backend(refusals)


def volume_claim_beside(*, volume: Volume, wanted: PoolRequest, hosts: Collection[str]) -> StoragePool:
    """Choose another pool for a volume that is in one, and hold its size in both, in the caller's transaction. One of
    `hosts`, which can work in the pool that it is in, has to be able to in the other.

    Raises NoValidBackend.
    """
    choice = pools_choose(wanted, [one for one in pool_facts(with_zones=bool(wanted.zone)) if one.id != volume.pool_id])
    refusals = list(choice.refusals)
    rows = StoragePool.objects.in_bulk([one.id for one in choice.ranked])
    for facts in choice.ranked:
        pool = rows.get(facts.id)
        if pool is None or not set(live_hosts(pool)) & set(hosts):
            words = "no host that is up can work in it and in the volume's pool"
            refusals.append(PoolRefusal(facts.id, facts.name, PoolReason.HOST, words))
            continue
        try:
            held_in_pools(volume=volume, pools=[pk for pk in (volume.pool_id, pool.pk) if pk])
        except NoCapacity as error:  # others were quicker
            refusals.append(space_refusal(wanted, facts, free=int(error.extra.get("free", 0))))
        else:
            return pool
    raise no_valid_backend(refusals)


def held_in_pools(*, volume: Volume, pools: Collection[uuid.UUID]) -> None:
    """Hold the volume's size in each of these pools, and nothing else. Raises NoCapacity."""
    state = ConsumerState(
        consumer_uuid=volume.pk,
        project_id=str(volume.project_id),
        user_id=str(volume.user_id),
        consumer_type=CONSUMER,
        resources={pk: {VOLUME_GB: volume.size_gib} for pk in pools},
        generation=UNCHECKED,
    )
    allocations_replace([state])


def no_valid_backend(refusals: Sequence[PoolRefusal]) -> NoValidBackend:
    """No pool can have the volume, for these reasons."""
    return NoValidBackend(
        refusals_words(refusals),
        pools=[{**asdict(one), "pool_id": str(one.pool_id), "reason": one.reason.value} for one in refusals],
    )


def volume_claim_resize(*, volume: Volume, size_gib: int) -> None:
    """Hold so much of the volume's pool instead of what it holds. Raises NoCapacity, with numbers."""
    hold(consumer_id=volume.pk, volume=volume, size_gib=size_gib)


def volume_claim_owner_set(*, volume: Volume) -> None:
    """Let what the volume holds be its present project's, and its present owner's."""
    hold(consumer_id=volume.pk, volume=volume, size_gib=volume.size_gib)


def volume_unclaim(*, volume: Volume) -> None:
    """Hold nothing any more. Twice is once."""
    allocations_free([volume.pk])


def hold(*, consumer_id: uuid.UUID, volume: Volume, size_gib: int) -> None:
    """Let a volume, or a snapshot of it, hold so much of the volume's pool. Raises NoCapacity, with numbers."""
    pool = volume.pool
    if pool is None:
        raise Conflict(_("Volume {volume} is in no pool.", volume=volume.pk))
    state = ConsumerState(
        consumer_uuid=consumer_id,
        project_id=str(volume.project_id),
        user_id=str(volume.user_id),
        consumer_type=CONSUMER,
        resources={pool.pk: {VOLUME_GB: size_gib}},
        generation=UNCHECKED,
    )
    try:
        allocations_replace([state])
    except NoCapacity as error:
        free = error.extra.get("free", 0)
        raise NoCapacity(
            _(
                "Pool {pool} has {free} GiB free, and {size_gib} GiB are wanted.",
                pool=pool.name,
                free=free,
                size_gib=size_gib,
            ),
            pool=pool.name,
            wanted=size_gib,
        ) from error
