"""What the pool of a volume can do."""

from computeagent.protocol.volumes import PoolAbility, PoolKind
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NoCapacity
from controlplane.kernel.texts import phrase as _
from controlplane.kernel.texts import sentences
from servers.models import Volume
from servers.volumes.domain.errors import PoolCannot


def ability_require(volume: Volume, ability: PoolAbility, what: str) -> None:
    """Raise PoolCannot, with what the pool lacks, where a volume's pool has not this ability."""
    pool = volume.pool
    if pool is not None and ability.value in pool.abilities:
        return
    lacks = " ".join(pool.lacks) if pool is not None else ""
    text = _("Volume {volume} cannot {what}: its pool cannot do that.", volume=volume, what=what)
    raise PoolCannot(sentences([text, lacks]) if lacks else text, ability=ability.value)


def room_refusal(caller: Caller | None, volume: Volume, size_gib: int, error: NoCapacity) -> NoCapacity:
    """The same for whoever may not know of pools: without the name and the figures of this one."""
    if caller is None or caller.is_admin:
        return error
    return NoCapacity(
        _("The pool of volume {volume} has no room for {size_gib} GiB.", volume=volume, size_gib=size_gib),
        wanted=size_gib,
    )


def takes_a_moment(volume: Volume) -> bool:
    """Whether the pool itself has all bytes of one moment, whoever writes to the volume meanwhile."""
    pool = volume.pool
    return pool is not None and pool.kind == PoolKind.RBD.value and PoolAbility.CLONE.value in pool.abilities


def copies_snapshots(volume: Volume) -> bool:
    """Whether a snapshot takes as much of the pool as the volume does: where nothing is shared with it."""
    pool = volume.pool
    return pool is not None and PoolAbility.CLONE.value not in pool.abilities
