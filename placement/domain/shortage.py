"""Why an inventory cannot give what is asked: the rule that broke, with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from controlplane.kernel.errors import NoCapacity
from placement.domain.claim import Demand
from placement.domain.inventory import InventoryUsage


class Rule(StrEnum):
    """The rules an amount must keep. `no_inventory`: the provider, or its inventory of the class, is not there."""

    NO_INVENTORY = "no_inventory"
    CAPACITY = "capacity"
    MIN_UNIT = "min_unit"
    MAX_UNIT = "max_unit"
    STEP_SIZE = "step_size"


@dataclass(frozen=True, slots=True)
class Shortage:
    """One inventory that a claim lost on. `limit` is the broken rule's number (for capacity: the free units)."""

    provider_uuid: UUID
    resource_class: str
    rule: Rule
    wanted: int
    free: int
    limit: int

    def sentence(self) -> str:
        """For people: 'VCPU of provider ...: wants 4, has 1 free'."""
        subject = f"{self.resource_class} of provider {self.provider_uuid}"
        if self.rule is Rule.NO_INVENTORY:
            return f"{subject}: there is no such inventory (wants {self.wanted})"
        if self.rule is Rule.CAPACITY:
            return f"{subject}: wants {self.wanted}, has {self.free} free"
        return f"{subject}: {self.wanted} in one piece breaks {self.rule.value} {self.limit}"


def broken_rule(provider: UUID, name: str, demand: Demand, usage: InventoryUsage | None) -> Shortage | None:
    """The first rule that `demand` breaks on this inventory, or None when it fits."""
    if usage is None:
        return Shortage(provider, name, Rule.NO_INVENTORY, demand.total, 0, 0)
    broken = (
        (Rule.MIN_UNIT, demand.least < usage.min_unit, demand.least, usage.min_unit),
        (Rule.MAX_UNIT, demand.most > usage.max_unit, demand.most, usage.max_unit),
        (Rule.STEP_SIZE, demand.divisor % usage.step_size != 0, demand.divisor, usage.step_size),
        (Rule.CAPACITY, usage.used + demand.total > usage.capacity, demand.total, usage.free),
    )
    for rule, is_broken, wanted, limit in broken:
        if is_broken:
            return Shortage(provider, name, rule, wanted, usage.free, limit)
    return None


def capacity_error(shortages: Sequence[Shortage]) -> NoCapacity:
    """NoCapacity for the first shortage; `extra["shortages"]` lists all of them, so that a caller drops every loser.

    Extra: provider_uuid (UUID), resource_class, wanted, free, rule, shortages (plain dicts, uuids as text).
    """
    first = shortages[0]
    return NoCapacity(
        f"No capacity: {first.sentence()}.",
        provider_uuid=first.provider_uuid,
        resource_class=first.resource_class,
        wanted=first.wanted,
        free=first.free,
        rule=first.rule.value,
        shortages=[_plain(shortage) for shortage in shortages],
    )


def _plain(shortage: Shortage) -> dict[str, str | int]:
    return {
        "provider_uuid": str(shortage.provider_uuid),
        "resource_class": shortage.resource_class,
        "rule": shortage.rule.value,
        "wanted": shortage.wanted,
        "free": shortage.free,
        "limit": shortage.limit,
    }
