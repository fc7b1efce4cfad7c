"""The rules of allocation candidates as a slow text: try every choice of providers in every tree."""

from collections.abc import Iterable, Iterator
from itertools import product

from placement.candidates import AllocationCandidate, CandidateQuery, ProviderFacts, RequestGroup

SHARES = "MISC_SHARES_VIA_AGGREGATE"
Choice = tuple[tuple[RequestGroup, dict[str, int], ProviderFacts], ...]
Outcome = tuple[frozenset[object], frozenset[object]]


class World:
    """Providers, and what can be asked about them one by one."""

    def __init__(self, facts: Iterable[ProviderFacts]) -> None:
        self.facts = {one.uuid: one for one in facts}

    def root(self, one: ProviderFacts) -> ProviderFacts:
        """The root of its tree."""
        return self.facts[one.root_uuid]

    def line(self, one: ProviderFacts) -> set[object]:
        """Itself and all above it."""
        line = {one.uuid}
        while one.parent_uuid is not None:
            one = self.facts[one.parent_uuid]
            line.add(one.uuid)
        return line

    def is_served(self, anchor: ProviderFacts, one: ProviderFacts) -> bool:
        """Whether a sharing provider shares with some provider of the tree of `anchor`."""
        tree = [other for other in self.facts.values() if other.root_uuid == anchor.uuid]
        return SHARES in one.traits and any(one.aggregates & other.aggregates for other in tree)


def outcomes(facts: Iterable[ProviderFacts], query: CandidateQuery) -> set[Outcome]:
    """All candidates, each told by its allocations and its mappings."""
    world = World(facts)
    if any(group.in_tree is not None and group.in_tree not in world.facts for group in query.groups):
        return set()
    anchors = [one for one in world.facts.values() if one.parent_uuid is None]
    return {
        outcome_of(choice)
        for anchor in anchors
        if query.root_required <= anchor.traits and not query.root_forbidden & anchor.traits
        for choice in choices(world, query, anchor)
        if is_allowed(world, query, choice)
    }


def choices(world: World, query: CandidateQuery, anchor: ProviderFacts) -> Iterator[Choice]:
    """Each way to name a provider for each part of the request."""
    parts = [
        (group, amounts)
        for group in query.groups
        for amounts in ([group.resources] if group.suffix else [{name: n} for name, n in group.resources.items()])
    ]
    able = [[one for one in world.facts.values() if can_serve(world, anchor, *part, one)] for part in parts]
    for chosen in product(*able):
        yield tuple((group, amounts, one) for (group, amounts), one in zip(parts, chosen, strict=True))


def can_serve(
    world: World, anchor: ProviderFacts, group: RequestGroup, amounts: dict[str, int], one: ProviderFacts
) -> bool:
    """Whether a provider can serve one part, for the tree of `anchor`, as far as it can be said of it alone."""
    is_own = one.root_uuid == anchor.uuid
    if not is_own and not world.is_served(anchor, one):
        return False
    if group.in_tree is not None and world.facts[group.in_tree].root_uuid != one.root_uuid:
        return False
    if not is_own and not group.suffix and group.in_tree is not None:
        return False
    if one.traits & group.forbidden or not all(fits(one, name, amount) for name, amount in amounts.items()):
        return False
    return is_placed(group, one, anchor if not group.suffix else one, is_own) and (
        not group.suffix or all(one.traits & wanted for wanted in group.required)
    )


def is_placed(group: RequestGroup, one: ProviderFacts, root: ProviderFacts, is_own: bool) -> bool:
    """The aggregates: a root speaks for its tree, not for those that share with it."""
    if (one.aggregates | root.aggregates) & group.forbidden_aggregates:
        return False
    speakers = [one, root] if is_own else [one]
    return any(all(speaker.aggregates & wanted for wanted in group.member_of) for speaker in speakers)


def fits(one: ProviderFacts, name: str, amount: int) -> bool:
    """Room and units of one class."""
    usage = one.inventories.get(name)
    return (
        usage is not None
        and usage.used + amount <= usage.capacity
        and usage.min_unit <= amount <= usage.max_unit
        and amount % usage.step_size == 0
    )


def is_allowed(world: World, query: CandidateQuery, choice: Choice) -> bool:
    """What the parts must meet together."""
    suffixed = [one.uuid for group, _, one in choice if group.suffix]
    if query.group_policy == "isolate" and len(set(suffixed)) < len(suffixed):
        return False
    spread = [(group, one) for group, _, one in choice if not group.suffix]
    traits = frozenset[str]().union(*(one.traits for _, one in spread))
    if spread and not all(traits & wanted for wanted in spread[0][0].required):
        return False
    return all(is_subtree(world, choice, suffixes) for suffixes in query.same_subtree) and sums_fit(world, choice)


def is_subtree(world: World, choice: Choice, suffixes: frozenset[str]) -> bool:
    """One of the providers is above all, or is all, of them."""
    ones = [one for group, _, one in choice if group.suffix in suffixes]
    return any(all(top.uuid in world.line(one) for one in ones) for top in ones)


def sums_fit(world: World, choice: Choice) -> bool:
    """What lands on one provider and class together."""
    return all(
        usage.used + amount <= usage.capacity and amount <= usage.max_unit
        for provider, name, amount in sums(choice)
        for usage in [world.facts[provider].inventories[name]]
    )


def sums(choice: Choice) -> frozenset[tuple[object, str, int]]:
    """(provider, class, amount), added up."""
    total: dict[tuple[object, str], int] = {}
    for _, amounts, one in choice:
        for name, amount in amounts.items():
            total[one.uuid, name] = total.get((one.uuid, name), 0) + amount
    return frozenset((provider, name, amount) for (provider, name), amount in total.items())


def outcome_of(choice: Choice) -> Outcome:
    """Allocations and mappings of a choice."""
    mappings: dict[str, set[object]] = {}
    for group, _, one in choice:
        mappings.setdefault(group.suffix, set()).add(one.uuid)
    return sums(choice), frozenset((suffix, frozenset(uuids)) for suffix, uuids in mappings.items())


def as_outcome(candidate: AllocationCandidate) -> Outcome:
    """The same of what the search has found."""
    allocations = frozenset(
        (provider, name, amount)
        for provider, amounts in candidate.allocations.items()
        for name, amount in amounts.items()
    )
    return allocations, frozenset((suffix, frozenset(uuids)) for suffix, uuids in candidate.mappings.items())
