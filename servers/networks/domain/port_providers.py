"""Which providers serve what a port asks of Placement, found from what its instance holds: nobody wrote it down."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence

from servers.networks.domain.port_resources import ResourceGroup

Holdings = Mapping[uuid.UUID, Mapping[str, int]]
"""Amounts by resource class, of each provider."""
Traits = Mapping[uuid.UUID, frozenset[str]]


def amounts_of_groups(
    leaving: Sequence[ResourceGroup], staying: Sequence[ResourceGroup], held: Holdings, traits: Traits
) -> dict[uuid.UUID, dict[str, int]]:
    """What the groups that leave hold of which provider. Where several could serve a group, it is one without which the
    others can still be served. A group that no provider serves, since somebody changed the allocations, holds nothing.
    """
    rest: Holdings = held
    found: dict[uuid.UUID, Counter[str]] = {}
    for place, group in enumerate(leaving):
        able = _able(group, rest, traits)
        if not able:
            continue
        others = [*leaving[place + 1 :], *staying]
        served = (one for one in able if _serves_all(others, _without(rest, one, group), traits))
        chosen = next(served, able[0])
        found.setdefault(chosen, Counter()).update(group.resources)
        rest = _without(rest, chosen, group)
    return {provider: dict(amounts) for provider, amounts in found.items()}


def _able(group: ResourceGroup, rest: Holdings, traits: Traits) -> list[uuid.UUID]:
    return [
        one
        for one, amounts in rest.items()
        if traits.get(one, frozenset()).issuperset(group.required)
        and all(amounts.get(name, 0) >= amount for name, amount in group.resources.items())
    ]


def _without(rest: Holdings, provider: uuid.UUID, group: ResourceGroup) -> Holdings:
    return {**rest, provider: Counter(rest[provider]) - Counter(group.resources)}


def _serves_all(groups: Sequence[ResourceGroup], rest: Holdings, traits: Traits) -> bool:
    """Whether each finds a provider, the largest first."""
    for group in sorted(groups, key=lambda one: -sum(one.resources.values())):
        able = _able(group, rest, traits)
        if not able:
            return False
        rest = _without(rest, able[0], group)
    return True
