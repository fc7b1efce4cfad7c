"""Allocations and those who hold them."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from controlplane.infra.db import now_plus
from placement.domain import AllocationView, ConsumerView
from placement.models import Allocation, Consumer, ResourceProvider

_CONSUMER = ("uuid", "project_id", "user_id", "consumer_type", "generation", "created_at", "by_client")
_ALLOCATION = ("consumer__uuid", "provider__uuid", "provider__name", "resource_class__name", "used")


@dataclass(frozen=True, slots=True)
class HeldOfProvider:
    """So much of a class of one provider, which is at this generation."""

    provider_uuid: UUID
    provider_generation: int
    resource_class: str
    used: int


@dataclass(frozen=True, slots=True)
class ConsumerHoldings:
    """Somebody with all that it holds; `modified` is when that last changed."""

    project_id: str
    user_id: str
    consumer_type: str | None
    generation: int
    modified: datetime
    rows: list[HeldOfProvider]


@dataclass(frozen=True, slots=True)
class HeldByConsumer:
    """So much of a class, held by a consumer, who is at this generation."""

    consumer_uuid: UUID
    consumer_generation: int
    resource_class: str
    used: int


@dataclass(frozen=True, slots=True)
class ProviderHoldings:
    """All that is held of one provider; `modified` is when one of its consumers last changed, None without any."""

    generation: int
    modified: datetime | None
    rows: list[HeldByConsumer]


def consumer_holdings(consumer_uuid: UUID) -> ConsumerHoldings | None:
    """Who this is and what it holds, in the order in which it came by it; None when it holds nothing. One query."""
    owner = ("project_id", "user_id", "consumer_type", "generation", "updated_at")
    held = ("provider__uuid", "provider__generation", "resource_class__name", "used")
    names = (*(f"consumer__{name}" for name in owner), *held)
    rows = list(Allocation.objects.filter(consumer__uuid=consumer_uuid).order_by("pk").values_list(*names))
    if not rows:
        return None
    project, user, consumer_type, generation, modified = rows[0][: len(owner)]
    holdings = [HeldOfProvider(*row[len(owner) :]) for row in rows]
    return ConsumerHoldings(project, user, consumer_type, generation, modified, holdings)


def provider_holdings(provider_uuid: UUID) -> ProviderHoldings | None:
    """What is held of this provider, in the order in which it was taken; None: no such provider. Two queries."""
    provider = ResourceProvider.objects.filter(uuid=provider_uuid).values_list("pk", "generation").first()
    if provider is None:
        return None
    names = ("consumer__updated_at", "consumer__uuid", "consumer__generation", "resource_class__name", "used")
    rows = list(Allocation.objects.filter(provider_id=provider[0]).order_by("pk").values_list(*names))
    modified = max((row[0] for row in rows), default=None)
    return ProviderHoldings(provider[1], modified, [HeldByConsumer(*row[1:]) for row in rows])


def allocation_list() -> QuerySet[Allocation]:
    """All allocations with consumer, provider and class."""
    return Allocation.objects.select_related("consumer", "provider", "resource_class").order_by("pk")


def allocations_by_consumer(consumer_uuids: Collection[UUID] | None = None) -> dict[UUID, list[AllocationView]]:
    """{consumer: what it holds}, by provider name and class. Consumers that hold nothing are left out. One query."""
    rows = Allocation.objects.order_by("provider__name", "resource_class__name")
    if consumer_uuids is not None:
        rows = rows.filter(consumer__uuid__in=consumer_uuids)
    found: defaultdict[UUID, list[AllocationView]] = defaultdict(list)
    for row in rows.values_list(*_ALLOCATION):
        found[row[0]].append(AllocationView(*row))
    return dict(found)


def client_consumers() -> frozenset[UUID]:
    """Consumers that a client made over the Placement API: their allocations are that client's business. One query."""
    return frozenset(Consumer.objects.filter(by_client=True).values_list("uuid", flat=True))


def consumer_list(*, consumer_type: str | None = None, created_before: datetime | None = None) -> list[ConsumerView]:
    """Consumers, oldest first. One query."""
    rows = Consumer.objects.order_by("created_at", "pk")
    if consumer_type is not None:
        rows = rows.filter(consumer_type=consumer_type)
    if created_before is not None:
        rows = rows.filter(created_at__lt=created_before)
    return [ConsumerView(*row) for row in rows.values_list(*_CONSUMER)]


def consumer_list_of_provider(provider_uuid: UUID) -> list[ConsumerView]:
    """Whoever holds something of this provider, oldest first. One query."""
    held = Allocation.objects.filter(provider__uuid=provider_uuid).values("consumer_id")
    rows = Consumer.objects.filter(pk__in=held).order_by("created_at", "pk")
    return [ConsumerView(*row) for row in rows.values_list(*_CONSUMER)]


def consumers_by_provider(provider_uuids: Collection[UUID], *, consumer_type: str) -> dict[UUID, set[UUID]]:
    """Whoever of this type holds something of each provider itself. One query."""
    held = Allocation.objects.filter(provider__uuid__in=list(provider_uuids), consumer__consumer_type=consumer_type)
    found: dict[UUID, set[UUID]] = defaultdict(set)
    for provider, consumer in held.order_by().values_list("provider__uuid", "consumer__uuid").distinct():
        found[provider].add(consumer)
    return found


def consumers_of_trees(root_uuids: Collection[UUID]) -> set[UUID]:
    """Whoever holds something of these root providers or of what is below them. One query."""
    held = Allocation.objects.filter(provider__root__uuid__in=list(root_uuids))
    return set(held.values_list("consumer__uuid", flat=True))


def consumers_older_than(*, seconds: float) -> list[UUID]:
    """Consumers of our own that have existed for longer than this by the database's clock, oldest first. One query."""
    rows = Consumer.objects.filter(created_at__lt=now_plus(-seconds), by_client=False).order_by("created_at", "pk")
    return list(rows.values_list("uuid", flat=True))


def consumer_generations(uuids: Collection[UUID]) -> dict[UUID, int]:
    """{consumer: its generation} of those that are there. One query."""
    return dict(Consumer.objects.filter(uuid__in=uuids).values_list("uuid", "generation"))
