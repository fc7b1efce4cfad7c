"""Allocations and those who hold them."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from controlplane.infra.db import now_plus
from placement.domain import AllocationView, ConsumerView
from placement.models import Allocation, Consumer

_CONSUMER = ("uuid", "project_id", "user_id", "consumer_type", "generation", "created_at")
_ALLOCATION = ("consumer__uuid", "provider__uuid", "provider__name", "resource_class__name", "used")


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


def consumers_older_than(*, seconds: float) -> list[UUID]:
    """Consumers that have existed for longer than this by the database's clock, oldest first. One query."""
    rows = Consumer.objects.filter(created_at__lt=now_plus(-seconds)).order_by("created_at", "pk")
    return list(rows.values_list("uuid", flat=True))
