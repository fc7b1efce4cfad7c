"""What volumes ask of the host of their instance: that it reaches the pools that they are in, or are to be made in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.kernel.reasons import Refusal, RefusalReason


@dataclass(frozen=True, slots=True)
class PoolRoom:
    """A pool as it was when the request was made: its name for people, and how many GiB are free of what may be
    promised of it.
    """

    name: str
    free_gib: int = 0


@dataclass(frozen=True, slots=True)
class VolumeNeed:
    """One volume. `pools`, by the trait of hosts that reach them, are those that will do. `gib` is what is made there;
    0 for a volume that is there already. `words` say which volume it is.
    """

    words: str
    pools: Mapping[str, PoolRoom] = field(default_factory=dict)
    gib: int = 0


def volumes_refusal(needs: tuple[VolumeNeed, ...], traits: frozenset[str]) -> Refusal | None:
    """Why a host with these traits cannot have all these volumes; None when it can.

    Each volume that is made takes of the first of its pools that has room for it, after those before it.
    """
    taken: dict[str, int] = {}
    for need in needs:
        reached = [trait for trait in need.pools if trait in traits]
        if not reached:
            return _not_reached(need)
        left = {trait: need.pools[trait].free_gib - taken.get(trait, 0) for trait in reached}
        fits = [trait for trait in reached if left[trait] >= need.gib]
        if need.gib and not fits:
            best = max(reached, key=lambda trait: left[trait])
            return Refusal(
                RefusalReason.VOLUME_POOL_SHORT,
                wanted=need.gib,
                available=max(left[best], 0),
                unit="GB",
                detail=f"{need.words}, pool {need.pools[best].name}",
            )
        if need.gib:
            taken[fits[0]] = taken.get(fits[0], 0) + need.gib
    return None


NAMES_SHOWN = 3


def _not_reached(need: VolumeNeed) -> Refusal:
    names = sorted({room.name for room in need.pools.values()})
    shown = ", ".join(names[:NAMES_SHOWN]) + (f" and {len(names) - NAMES_SHOWN} more" if names[NAMES_SHOWN:] else "")
    return Refusal(RefusalReason.VOLUME_UNREACHED, wanted=shown or "any pool for it", detail=need.words)
