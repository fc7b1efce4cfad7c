"""What the audit of placement can find, and the pure comparison that finds it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class FindingKind(StrEnum):
    """Each kind is a broken rule. An operator's shrunk inventory (used above capacity) is none."""

    USED_DIFFERS = "used_differs"
    OVER_ALLOCATED = "over_allocated"
    ALLOCATION_WITHOUT_INVENTORY = "allocation_without_inventory"
    CONSUMER_WITHOUT_ALLOCATIONS = "consumer_without_allocations"


_SENTENCES = {
    FindingKind.USED_DIFFERS: "{subject}: used says {used}, the allocations add up to {allocated}",
    FindingKind.OVER_ALLOCATED: "{subject}: {allocated} allocated of a capacity of {capacity}, by claims",
    FindingKind.ALLOCATION_WITHOUT_INVENTORY: "{subject}: {allocated} allocated where there is no inventory",
    FindingKind.CONSUMER_WITHOUT_ALLOCATIONS: "consumer {consumer_uuid} holds no allocations",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule with the numbers that show it. Numbers a kind does not need are 0."""

    kind: FindingKind
    provider_uuid: UUID | None = None
    resource_class: str = ""
    consumer_uuid: UUID | None = None
    used: int = 0
    allocated: int = 0
    capacity: int = 0

    def sentence(self) -> str:
        """For people."""
        return _SENTENCES[self.kind].format(
            subject=f"{self.resource_class} of provider {self.provider_uuid}",
            consumer_uuid=self.consumer_uuid,
            used=self.used,
            allocated=self.allocated,
            capacity=self.capacity,
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


def inventory_findings(facts: Iterable[InventoryFacts]) -> list[Finding]:
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


def _finding(kind: FindingKind, fact: InventoryFacts) -> Finding:
    return Finding(
        kind=kind,
        provider_uuid=fact.provider_uuid,
        resource_class=fact.resource_class,
        used=fact.used,
        allocated=fact.allocated,
        capacity=fact.capacity,
    )
