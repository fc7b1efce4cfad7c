"""The choice of a pool for a volume: pure, and with a typed reason and its numbers for each pool that cannot have it.

Sizes are GiB. Of pools that can have a volume, one that several hosts reach comes before one that ties the volume, and
each instance with it, to a host; among those, the one with the most room.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from computeagent.protocol.volumes import PoolAbility
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """What a volume asks of its pool. `pools` and `kinds` are those of its type, empty for any; `pool` is the name or
    id that somebody asked for, `pool_id` the pool of what the volume begins with, in which it has to be. `host` has to
    reach it, for its guest gets the volume; `zone`: one of the hosts that reach it has to be there.
    """

    size_gib: int
    type_name: str = ""
    pools: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    abilities: frozenset[PoolAbility] = frozenset()
    pool: str = ""
    pool_id: UUID | None = None
    host: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """A pool as the choice sees it. `hosts`: why each cannot use it now, empty where it can; `up`: those that are up.
    `free_gib` is what may be promised still of `capacity_gib`, `measured_free_gib` what the hosts measured.
    """

    id: UUID
    name: str
    kind: str
    is_shared: bool = False
    is_enabled: bool = True
    abilities: frozenset[str] = frozenset()
    capacity_gib: int = 0
    free_gib: int = 0
    measured_free_gib: int = 0
    allocation_ratio: float = 1.0
    hosts: Mapping[str, str] = field(default_factory=dict)
    up: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()


class PoolReason(StrEnum):
    """Why a pool cannot have a volume."""

    OTHER_POOL = "other_pool"
    OTHER_SOURCE_POOL = "other_source_pool"
    TYPE = "type"
    KIND = "kind"
    DISABLED = "disabled"
    ABILITY = "ability"
    HOST = "host"
    ZONE = "zone"
    UNREACHED = "unreached"
    PROBLEM = "problem"
    DOWN = "down"
    SPACE = "space"
    DISK_SPACE = "disk_space"


@dataclass(frozen=True, slots=True)
class PoolRefusal:
    """Why one pool cannot have the volume. `words` are for people, and name no host. Of space: what is wanted and what
    is free, in GiB.
    """

    pool_id: UUID
    pool: str
    reason: PoolReason
    words: str
    wanted: int = 0
    free: int = 0


def pool_refusal(request: PoolRequest, pool: PoolFacts) -> PoolRefusal | None:
    """The first reason against this pool, or None."""
    found = _is_meant(request, pool) or _is_reached(request, pool)
    if found is not None:
        return PoolRefusal(pool.id, pool.name, *found)
    if request.size_gib > pool.free_gib:
        return space_refusal(request, pool, free=pool.free_gib)
    promised = int(pool.measured_free_gib * pool.allocation_ratio)
    if request.size_gib > promised:
        words = f"wants {request.size_gib} GiB, and its disks have {pool.measured_free_gib} GiB free"
        return PoolRefusal(pool.id, pool.name, PoolReason.DISK_SPACE, words, request.size_gib, pool.measured_free_gib)
    return None


def space_refusal(request: PoolRequest, pool: PoolFacts, *, free: int) -> PoolRefusal:
    """So much is free of what may be promised, and it is too little."""
    words = f"wants {request.size_gib} GiB, has {free} of {pool.capacity_gib} GiB free"
    return PoolRefusal(pool.id, pool.name, PoolReason.SPACE, words, request.size_gib, free)


def _is_meant(request: PoolRequest, pool: PoolFacts) -> tuple[PoolReason, str] | None:
    lacking = sorted(each.value for each in request.abilities if each.value not in pool.abilities)
    of_type = f"volumes of type {request.type_name} are"
    rules = (
        (
            bool(request.pool) and request.pool not in (pool.name, str(pool.id)),
            PoolReason.OTHER_POOL,
            f"pool {request.pool} is asked for",
        ),
        (
            request.pool_id not in (None, pool.id),
            PoolReason.OTHER_SOURCE_POOL,
            "the volume has to be in the pool of what it begins with",
        ),
        (
            bool(request.pools) and pool.name not in request.pools,
            PoolReason.TYPE,
            f"{of_type} in {', '.join(request.pools)}",
        ),
        (
            bool(request.kinds) and pool.kind not in request.kinds,
            PoolReason.KIND,
            f"is {pool.kind}, and {of_type} {' or '.join(request.kinds)}",
        ),
        (not pool.is_enabled, PoolReason.DISABLED, "gets no new volumes: an administrator disabled it"),
        (bool(lacking), PoolReason.ABILITY, f"cannot {', '.join(lacking)}"),
    )
    return _first(rules)


def _is_reached(request: PoolRequest, pool: PoolFacts) -> tuple[PoolReason, str] | None:
    sound = {host for host, problem in pool.hosts.items() if not problem}
    is_elsewhere = bool(request.host) and request.host not in sound
    is_out_of_zone = bool(request.zone) and request.zone not in pool.zones
    return _first(
        (
            (is_elsewhere, PoolReason.HOST, _("the instance's host does not reach it")),
            (is_out_of_zone, PoolReason.ZONE, _("no host that reaches it is in zone {zone}", zone=request.zone)),
            (not pool.hosts, PoolReason.UNREACHED, _("no host reaches it")),
            (not sound, PoolReason.PROBLEM, _("no host can use it now")),
            (not sound & pool.up, PoolReason.DOWN, _("every host that reaches it is down")),
        )
    )


def _first(rules: Iterable[tuple[bool, PoolReason, str]]) -> tuple[PoolReason, str] | None:
    return next(((reason, words) for is_broken, reason, words in rules if is_broken), None)


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """The pools that can have the volume, the best first, and why not the others."""

    ranked: Sequence[PoolFacts]
    refusals: Sequence[PoolRefusal]


def pools_choose(request: PoolRequest, pools: Iterable[PoolFacts]) -> PoolChoice:
    """Judge all of them."""
    fitting, refusals = [], []
    for pool in pools:
        refusal = pool_refusal(request, pool)
        if refusal is None:
            fitting.append(pool)
        else:
            refusals.append(refusal)
    fitting.sort(key=lambda each: (not each.is_shared, -each.free_gib, each.name, each.id))
    return PoolChoice(fitting, refusals)


# What pools are called, and how full they are, is the installation's own business.
_OWNER_WORDS = {
    PoolReason.OTHER_POOL: _("is not the one that is asked for"),
    PoolReason.TYPE: _("is for volumes of other types"),
    PoolReason.KIND: _("is for volumes of other types"),
}


def owner_words(reason: PoolReason, words: str, *, wanted: int) -> str:
    """The words of a refusal for owners of volumes, without names of pools and without what is free of one."""
    if reason in (PoolReason.SPACE, PoolReason.DISK_SPACE):
        return _("has less than {wanted} GiB free", wanted=wanted)
    return _OWNER_WORDS.get(reason, words)


def refusals_words(refusals: Collection[PoolRefusal]) -> str:
    """One sentence for all of them: each reason once, with the pools that have it."""
    if not refusals:
        return _("There is no pool for volumes: no host reports one.")
    names: dict[str, set[str]] = defaultdict(set)
    counts: dict[str, int] = defaultdict(int)
    for refusal in refusals:
        names[refusal.words].add(refusal.pool)
        counts[refusal.words] += 1
    said = [f"{_named(sorted(names[words]), counts[words])}: {words}" for words in sorted(names)]
    return _("No pool can have the volume. {said}.", said="; ".join(said))


def _named(names: Sequence[str], count: int) -> str:
    return (
        ", ".join(names) if count == len(names) else _("{names} ({count} pools)", names=", ".join(names), count=count)
    )
