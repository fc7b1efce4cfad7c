"""Which host does a piece of work on a volume, and which of it another host may take over."""

from collections.abc import Mapping

from computeagent.protocol.volumes import PoolKind, VolumeWorkKind

_K = VolumeWorkKind

VOLUME_KINDS = frozenset(kind.value for kind in _K)
FOLLOWS_GUEST = frozenset({_K.VOLUME_EXTEND, _K.VOLUME_SNAPSHOT_CREATE, _K.VOLUME_LIMIT})
"""Done on the host of the guest that has the volume, where one has it: its QEMU is asked."""
NEED_NO_GUEST = frozenset({PoolKind.NBD.value})
"""Kinds of pools whose own server has all that guests wrote, wherever they are."""
WRITES_IN_PLACE = frozenset({_K.VOLUME_EXTEND, _K.VOLUME_REVERT, _K.VOLUME_RESTORE, _K.VOLUME_RETYPE, _K.VOLUME_LEAVE})
"""Silence of a host is no proof that it does not write any more. Two that make the same copy, or remove the same, do no
harm; two that write into a volume may. So another host gets such work when it was never begun, or when somebody
declared its host dead. What removes a copy is among them in this: the volume may come back to that pool.
"""
ATTEMPTS = 20
ATTEMPTS_OF_DELETION = 1000


def follows_guest(kind: VolumeWorkKind, pool_kind: str) -> bool:
    """Whether the host of the guest that has the volume does it."""
    return kind is _K.VOLUME_LIMIT or (kind in FOLLOWS_GUEST and pool_kind not in NEED_NO_GUEST)


def attempts_of(kind: VolumeWorkKind) -> int:
    """How often it may be taken. What is to go has to go."""
    is_deletion = kind in {_K.VOLUME_DELETE, _K.VOLUME_SNAPSHOT_DELETE, _K.VOLUME_LEAVE}
    return ATTEMPTS_OF_DELETION if is_deletion else ATTEMPTS


def may_move(
    kind: VolumeWorkKind, *, is_shared: bool, is_begun: bool, is_host_dead: bool, is_restored: bool = False
) -> bool:
    """Whether another host may do what a host that is down was to do. `is_host_dead`: somebody declared it so.
    `is_restored`: the volume is made of a backup, which is written into it.
    """
    writes = kind in WRITES_IN_PLACE or (kind is _K.VOLUME_CREATE and is_restored)
    return is_shared and (not writes or not is_begun or is_host_dead)


def host_chosen(open_work: Mapping[str, int]) -> str:
    """Of hosts by how much work on volumes they have: the one with the least, the first of several."""
    return min(open_work, key=lambda host: (open_work[host], host))
