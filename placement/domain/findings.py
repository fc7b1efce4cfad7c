"""What the audit of placement can find, and the pure comparisons that find it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class FindingKind(StrEnum):
    """Each kind is a broken rule, but for `overcommitted`: an operator may shrink an inventory below what is used."""

    USED_DIFFERS = "used_differs"
    OVER_ALLOCATED = "over_allocated"
    ALLOCATION_WITHOUT_INVENTORY = "allocation_without_inventory"
    CONSUMER_WITHOUT_ALLOCATIONS = "consumer_without_allocations"
    OVERCOMMITTED = "overcommitted"
    ROOT_WRONG = "root_wrong"
    PARENT_LOOP = "parent_loop"
    STAMP_AHEAD = "stamp_ahead"
    GENERATION_NEGATIVE = "generation_negative"


_SENTENCES = {
    FindingKind.USED_DIFFERS: "{subject}: used says {used}, the allocations add up to {allocated}",
    FindingKind.OVER_ALLOCATED: "{subject}: {allocated} allocated of a capacity of {capacity}, by claims",
    FindingKind.ALLOCATION_WITHOUT_INVENTORY: "{subject}: {allocated} allocated where there is no inventory",
    FindingKind.CONSUMER_WITHOUT_ALLOCATIONS: "consumer {consumer_uuid} holds no allocations",
    FindingKind.OVERCOMMITTED: (
        "{subject}: {allocated} allocated of a capacity of {capacity};"
        " {used_when_set} were used when these numbers were stated"
    ),
    FindingKind.ROOT_WRONG: "provider {provider} names root {root_uuid}, its parents lead to {right_root_uuid}",
    FindingKind.PARENT_LOOP: "provider {provider} is its own ancestor",
    FindingKind.STAMP_AHEAD: "provider {provider} has a change stamp that this server has not handed out yet",
    FindingKind.GENERATION_NEGATIVE: "{whose} has the generation {generation}",
}


@dataclass(frozen=True, slots=True)
class ProviderFinding:
    """One broken rule with the numbers that show it. Numbers a kind does not need are 0, other fields empty."""

    kind: FindingKind
    provider_uuid: UUID | None = None
    resource_class: str = ""
    consumer_uuid: UUID | None = None
    used: int = 0
    allocated: int = 0
    capacity: int = 0
    used_when_set: int = 0
    generation: int = 0
    root_uuid: UUID | None = None
    right_root_uuid: UUID | None = None

    def sentence(self, *, provider_name: str = "") -> str:
        """For people; a provider by its uuid where its name is not given."""
        is_consumer = self.consumer_uuid is not None
        provider = provider_name or self.provider_uuid
        return _SENTENCES[self.kind].format(
            subject=f"{self.resource_class} of provider {provider}",
            whose=f"consumer {self.consumer_uuid}" if is_consumer else f"provider {provider}",
            consumer_uuid=self.consumer_uuid,
            provider=provider,
            used=self.used,
            allocated=self.allocated,
            capacity=self.capacity,
            used_when_set=self.used_when_set,
            generation=self.generation,
            root_uuid=self.root_uuid or "none",
            right_root_uuid=self.right_root_uuid,
        )


@dataclass(frozen=True, slots=True)
class InventoryFacts:
    """One inventory beside the sum of its allocations, read in one statement."""

    provider_uuid: UUID
    resource_class: str
    used: int
    capacity: int
    used_when_set: int
    allocated: int


def inventory_findings(facts: Iterable[InventoryFacts]) -> list[ProviderFinding]:
    """`used` must be the sum of the allocations; and no claim may have gone over the capacity.

    An operator may shrink an inventory below what is used: `used_when_set` is what was used at that moment, and
    from there usage may only fall until it fits again.
    """
    found = []
    for fact in facts:
        if fact.used != fact.allocated:
            found.append(_finding(FindingKind.USED_DIFFERS, fact))
        if fact.allocated > max(fact.capacity, fact.used_when_set):
            found.append(_finding(FindingKind.OVER_ALLOCATED, fact))
    return found


def overcommitted_findings(facts: Iterable[InventoryFacts]) -> list[ProviderFinding]:
    """More allocated than may be, because the numbers were stated so: allowed, and worth knowing."""
    return [
        _finding(FindingKind.OVERCOMMITTED, fact)
        for fact in facts
        if fact.capacity < fact.allocated <= fact.used_when_set
    ]


def _finding(kind: FindingKind, fact: InventoryFacts) -> ProviderFinding:
    return ProviderFinding(
        kind=kind,
        provider_uuid=fact.provider_uuid,
        resource_class=fact.resource_class,
        used=fact.used,
        allocated=fact.allocated,
        capacity=fact.capacity,
        used_when_set=fact.used_when_set,
    )


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """A provider's place in its tree, as its row says it."""

    uuid: UUID
    parent_uuid: UUID | None
    root_uuid: UUID | None


def tree_findings(facts: Iterable[TreeFacts]) -> list[ProviderFinding]:
    """Every provider's root is where its parents lead: itself when it has none."""
    rows = list(facts)
    parents = {row.uuid: row.parent_uuid for row in rows}
    found = []
    for row in rows:
        right = root_of(row.uuid, parents)
        if right is None:
            found.append(ProviderFinding(FindingKind.PARENT_LOOP, provider_uuid=row.uuid, root_uuid=row.root_uuid))
        elif right != row.root_uuid:
            found.append(
                ProviderFinding(
                    FindingKind.ROOT_WRONG, provider_uuid=row.uuid, root_uuid=row.root_uuid, right_root_uuid=right
                )
            )
    return found


def root_of(uuid: UUID, parents: Mapping[UUID, UUID | None]) -> UUID | None:
    """Where the parents of a provider lead; None when they go in a circle."""
    seen = {uuid}
    while (parent := parents.get(uuid)) is not None:
        if parent in seen:
            return None
        seen.add(parent)
        uuid = parent
    return uuid
