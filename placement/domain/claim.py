"""What consumers ask for: claims of new ones, whole new states of any, and what a batch asks of each inventory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import gcd
from typing import Final
from uuid import UUID

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from placement.domain.inventory import MAX_INT

Amounts = Mapping[UUID, Mapping[str, int]]
InventoryKey = tuple[UUID, str]


class Unchecked(Enum):
    """The type of UNCHECKED alone."""

    UNCHECKED = "unchecked"


UNCHECKED: Final = Unchecked.UNCHECKED
"""In place of a consumer's generation: whatever it is, the state is replaced (clients below microversion 1.28)."""

INCOMPLETE_OWNER: Final = "00000000-0000-0000-0000-000000000000"
"""Project and user of a consumer whose client named none (below microversion 1.8), as in Placement."""

Generation = int | Unchecked | None


@dataclass(frozen=True, slots=True)
class CountLimit:
    """At most `limit` consumers that carry `key` ("group:<uuid>") hold something of this provider, this one included.

    The consumer carries the key on that provider for as long as it holds something there. `together`: besides, all
    that carry the key are on one provider, that of the first of them.
    """

    provider_uuid: UUID
    key: str
    limit: int
    together: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """All that one new consumer will hold: {provider uuid: {resource class: amount}}. Amounts in the class's unit.

    `seen`: generations of providers as whoever chose them saw them. One that has changed since then gives nothing, even
    if it has room, so that the choice is made again by what is so now.
    """

    consumer_uuid: UUID
    project_id: UUID | str
    user_id: UUID | str
    resources: Amounts
    consumer_type: str | None = "INSTANCE"
    limits: tuple[CountLimit, ...] = ()
    seen: Mapping[UUID, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """All that a consumer shall hold from now on, instead of what it holds; nothing at all ends it.

    `generation` None: it must hold nothing yet. A number: it must be at this generation. UNCHECKED: no matter.
    Project and user None: the client named none. `consumer_type` None: a new one has none, an old one keeps its own.
    `by_client`: a new one is the business of a client of the Placement API, so our sweeps leave it alone. `seen` as
    in a claim.
    """

    consumer_uuid: UUID
    project_id: str | None
    user_id: str | None
    consumer_type: str | None
    resources: Amounts
    generation: Generation = None
    limits: tuple[CountLimit, ...] = ()
    by_client: bool = False
    seen: Mapping[UUID, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a whole batch asks of one inventory.

    `minimum`, `maximum` and `divisor` (greatest common divisor) of the single amounts say all that min_unit, max_unit
    and step_size need: every amount is a multiple of the step exactly when their divisor is.
    """

    total: int
    minimum: int
    maximum: int
    divisor: int


def state_of(claim: Claim) -> ConsumerState:
    """A claim as the state that its consumer, which must hold nothing yet, shall have."""
    return ConsumerState(
        consumer_uuid=claim.consumer_uuid,
        project_id=str(claim.project_id),
        user_id=str(claim.user_id),
        consumer_type=claim.consumer_type,
        resources=claim.resources,
        limits=claim.limits,
        seen=claim.seen,
    )


def check_claims(claims: Sequence[Claim]) -> None:
    """Raise Invalid for a claim of nothing, an amount below 1, a limit elsewhere, or a consumer named twice."""
    for claim in claims:
        if not any(claim.resources.values()):
            raise Invalid(
                _("The claim of consumer {consumer_uuid} asks for nothing.", consumer_uuid=claim.consumer_uuid),
                field="resources",
            )
    check_states(claims)


def check_states(states: Sequence[Claim] | Sequence[ConsumerState]) -> None:
    """Raise Invalid for an amount below 1, a limit where nothing is asked for, or a consumer that is named twice."""
    seen: set[UUID] = set()
    for state in states:
        if state.consumer_uuid in seen:
            raise Invalid(
                _("Consumer {consumer_uuid} is named twice in one batch.", consumer_uuid=state.consumer_uuid),
                field="consumer_uuid",
            )
        seen.add(state.consumer_uuid)
        _check_amounts(state)
        if not all(state.resources.get(limit.provider_uuid) for limit in state.limits):
            raise Invalid(
                _("Consumer {consumer_uuid}: a limit where nothing is asked for.", consumer_uuid=state.consumer_uuid),
                field="limits",
            )


def _check_amounts(state: Claim | ConsumerState) -> None:
    for classes in state.resources.values():
        for amount in classes.values():
            if not 1 <= amount <= MAX_INT:
                raise Invalid(
                    _(
                        "Consumer {consumer_uuid}: amounts are between 1 and {max_int}.",
                        consumer_uuid=state.consumer_uuid,
                        max_int=MAX_INT,
                    ),
                    field="resources",
                )


def demands_of(claims: Iterable[Claim | ConsumerState]) -> dict[InventoryKey, Demand]:
    """The batch per inventory, in an order that does not depend on the order of the claims."""
    amounts: dict[InventoryKey, list[int]] = {}
    for claim in claims:
        for provider, classes in claim.resources.items():
            for name, amount in classes.items():
                amounts.setdefault((provider, name), []).append(amount)
    # The order of uuids is that of their numbers, which compare faster.
    return {
        key: Demand(total=sum(parts), minimum=min(parts), maximum=max(parts), divisor=gcd(*parts))
        for key, parts in sorted(amounts.items(), key=lambda each: (each[0][0].int, each[0][1]))
    }
