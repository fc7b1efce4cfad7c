"""A claim: what one consumer takes, from which providers; and what a batch of claims asks of each inventory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from uuid import UUID

from controlplane.kernel.errors import Invalid
from placement.domain.inventory import MAX_INT

Amounts = Mapping[UUID, Mapping[str, int]]
InventoryKey = tuple[UUID, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """All that one consumer will hold: {provider uuid: {resource class: amount}}. Amounts in the class's unit."""

    consumer_uuid: UUID
    project_id: UUID | str
    user_id: UUID | str
    resources: Amounts
    consumer_type: str = "INSTANCE"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a whole batch asks of one inventory.

    `least`, `most` and `divisor` (greatest common divisor) of the single amounts say all that min_unit, max_unit
    and step_size need: every amount is a multiple of the step exactly when their divisor is.
    """

    total: int
    least: int
    most: int
    divisor: int


def check_claims(claims: Sequence[Claim]) -> None:
    """Raise Invalid for a claim of nothing, an amount below 1, or a consumer that is named twice."""
    seen: set[UUID] = set()
    for claim in claims:
        if claim.consumer_uuid in seen:
            raise Invalid(f"Consumer {claim.consumer_uuid} is named twice in one batch.", field="consumer_uuid")
        seen.add(claim.consumer_uuid)
        _check_amounts(claim)


def _check_amounts(claim: Claim) -> None:
    amounts = [amount for classes in claim.resources.values() for amount in classes.values()]
    if not amounts:
        raise Invalid(f"The claim of consumer {claim.consumer_uuid} asks for nothing.", field="resources")
    if not all(1 <= amount <= MAX_INT for amount in amounts):
        raise Invalid(f"Consumer {claim.consumer_uuid}: amounts are between 1 and {MAX_INT}.", field="resources")


def demands_of(claims: Iterable[Claim]) -> dict[InventoryKey, Demand]:
    """The batch per inventory, in an order that does not depend on the order of the claims."""
    amounts: dict[InventoryKey, list[int]] = {}
    for claim in claims:
        for provider, classes in claim.resources.items():
            for name, amount in classes.items():
                amounts.setdefault((provider, name), []).append(amount)
    return {key: _demand(amounts[key]) for key in sorted(amounts)}


def _demand(amounts: list[int]) -> Demand:
    return Demand(total=sum(amounts), least=min(amounts), most=max(amounts), divisor=gcd(*amounts))
