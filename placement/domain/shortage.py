"""Why an inventory cannot give what is asked: the rule that broke, with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from controlplane.kernel.errors import NoCapacity
from controlplane.kernel.texts import phrase as _
from placement.domain.claim import Demand
from placement.domain.inventory import InventoryUsage


class AmountRule(StrEnum):
    """The rules an amount must keep. `no_inventory`: the provider, or its inventory of the class, is not there.

    `count_limit` and `together` are about consumers, not amounts: only so many that carry a key may be on the provider,
    or all of them are on another one.
    """

    NO_INVENTORY = "no_inventory"
    CAPACITY = "capacity"
    MIN_UNIT = "min_unit"
    MAX_UNIT = "max_unit"
    STEP_SIZE = "step_size"
    COUNT_LIMIT = "count_limit"
    TOGETHER = "together"


@dataclass(frozen=True, slots=True)
class Shortage:
    """One inventory that a claim lost on. `limit` is the broken rule's number (for capacity: the free units)."""

    provider_uuid: UUID
    resource_class: str
    rule: AmountRule
    wanted: int
    free: int
    limit: int

    def sentence(self) -> str:
        """For people: 'VCPU of provider ...: wants 4, has 1 free'."""
        subject = _(
            "{resource_class} of provider {provider_uuid}",
            resource_class=self.resource_class,
            provider_uuid=self.provider_uuid,
        )
        if self.rule is AmountRule.NO_INVENTORY:
            return _("{subject}: there is no such inventory (wants {wanted})", subject=subject, wanted=self.wanted)
        if self.rule is AmountRule.CAPACITY:
            return _("{subject}: wants {wanted}, has {free} free", subject=subject, wanted=self.wanted, free=self.free)
        return _(
            "{subject}: {wanted} in one piece breaks {rule} {limit}",
            subject=subject,
            wanted=self.wanted,
            rule=self.rule.value,
            limit=self.limit,
        )


@dataclass(frozen=True, slots=True)
class CountShortage:
    """A provider has too many consumers with `key` for the claim's limit: `present` before it, `wanted` more.

    `home`: those that must be together with them are on that provider, so that none may come here.
    """

    provider_uuid: UUID
    key: str
    wanted: int
    present: int
    limit: int
    home: UUID | None = None

    @property
    def free(self) -> int:
        """How many could still come."""
        return max(0, self.limit - self.present)

    def sentence(self) -> str:
        """For people: 'provider ...: 1 more of group:..., has 2 of at most 2'."""
        if self.home is not None:
            return _(
                "provider {provider_uuid}: {wanted} more of {key}, which is on provider {home}",
                provider_uuid=self.provider_uuid,
                wanted=self.wanted,
                key=self.key,
                home=self.home,
            )
        return _(
            "provider {provider_uuid}: {wanted} more of {key}, has {present} of {limit}",
            provider_uuid=self.provider_uuid,
            wanted=self.wanted,
            key=self.key,
            present=self.present,
            limit=self.limit,
        )


def broken_rule(
    provider: UUID, name: str, demand: Demand, usage: InventoryUsage | None, *, given_back: int = 0
) -> Shortage | None:
    """The first rule that `demand` breaks on this inventory, or None when it fits.

    `given_back` is what the same consumers give up of it: who asks for no more than that breaks no capacity, even
    where an operator shrank the inventory below what is used.
    """
    if usage is None:
        return Shortage(provider, name, AmountRule.NO_INVENTORY, demand.total, 0, 0)
    free = max(0, usage.capacity - usage.used + given_back)
    broken = (
        (AmountRule.MIN_UNIT, demand.minimum < usage.min_unit, demand.minimum, usage.min_unit),
        (AmountRule.MAX_UNIT, demand.maximum > usage.max_unit, demand.maximum, usage.max_unit),
        (AmountRule.STEP_SIZE, demand.divisor % usage.step_size != 0, demand.divisor, usage.step_size),
        (AmountRule.CAPACITY, demand.total > max(free, given_back), demand.total, free),
    )
    for rule, is_broken, wanted, limit in broken:
        if is_broken:
            return Shortage(provider, name, rule, wanted, free, limit)
    return None


def capacity_error(shortages: Sequence[Shortage | CountShortage]) -> NoCapacity:
    """NoCapacity for the first shortage; `extra["shortages"]` lists all of them, so that a caller drops every loser.

    Extra: provider_uuid (UUID), resource_class, wanted, free, rule, shortages (plain dicts, uuids as text). A count
    limit has its key in place of the resource class, and in its dict also `key`, `present`, `sentence` and, where the
    others with the key are on another provider, `home`.
    """
    first = shortages[0]
    plain = [_plain(shortage) for shortage in shortages]
    numbers: dict[str, Any] = {name: plain[0][name] for name in ("resource_class", "wanted", "free", "rule")}
    return NoCapacity(
        _("No capacity: {first}.", first=first.sentence()),
        provider_uuid=first.provider_uuid,
        **numbers,
        shortages=plain,
    )


def _plain(shortage: Shortage | CountShortage) -> dict[str, str | int]:
    common: dict[str, str | int] = {
        "provider_uuid": str(shortage.provider_uuid),
        "wanted": shortage.wanted,
        "free": shortage.free,
        "limit": shortage.limit,
    }
    if isinstance(shortage, Shortage):
        return {**common, "resource_class": shortage.resource_class, "rule": shortage.rule.value}
    rule = AmountRule.COUNT_LIMIT if shortage.home is None else AmountRule.TOGETHER
    return {
        **common,
        "resource_class": shortage.key,
        "rule": rule.value,
        "key": shortage.key,
        "present": shortage.present,
        "sentence": shortage.sentence(),
        **({} if shortage.home is None else {"home": str(shortage.home)}),
    }
