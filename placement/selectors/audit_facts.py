"""What the audit compares. Each function is one statement, so what it returns was true at one moment."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import BigIntegerField, Count, Exists, OuterRef, Subquery, Sum
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from controlplane.infra.db import now_plus
from placement.domain import ProviderKind
from placement.domain.findings import InventoryFacts, TreeFacts
from placement.models import Allocation, Consumer, Inventory, ResourceProvider

# A transaction that began later would get this number; the asking one may have a higher one than all that ended.
_NEXT_STAMP = RawSQL(
    "GREATEST(pg_snapshot_xmax(pg_current_snapshot())::text::bigint,"
    " 1 + pg_current_xact_id_if_assigned()::text::bigint)",
    (),
    output_field=BigIntegerField(),
)


def inventory_facts() -> list[InventoryFacts]:
    """Each inventory beside the sum of its allocations."""
    same = Allocation.objects.filter(provider=OuterRef("provider"), resource_class=OuterRef("resource_class"))
    sums = same.order_by().values("provider", "resource_class").annotate(sum=Sum("used")).values("sum")
    rows = Inventory.objects.annotate(allocated=Coalesce(Subquery(sums), 0)).values_list(
        "provider__uuid", "resource_class__name", "used", "capacity", "used_when_set", "allocated"
    )
    return [InventoryFacts(*row) for row in rows]


def allocations_without_inventory() -> list[tuple[UUID, str, int]]:
    """(provider, class, sum) of what is allocated where no inventory is."""
    inventory = Inventory.objects.filter(provider=OuterRef("provider"), resource_class=OuterRef("resource_class"))
    rows = Allocation.objects.filter(~Exists(inventory)).order_by()
    return list(rows.values_list("provider__uuid", "resource_class__name").annotate(Sum("used")))


def empty_consumers() -> list[UUID]:
    """Consumers that hold nothing."""
    held = Allocation.objects.filter(consumer=OuterRef("pk"))
    return list(Consumer.objects.filter(~Exists(held)).values_list("uuid", flat=True))


def tree_audit_facts() -> list[TreeFacts]:
    """Each provider with its parent and root."""
    rows = ResourceProvider.objects.order_by("name").values_list("uuid", "parent__uuid", "root__uuid")
    return [TreeFacts(*row) for row in rows]


def negative_generations() -> list[tuple[UUID | None, UUID | None, int]]:
    """(provider, None, generation) and (None, consumer, generation), where it is below 0: nothing here sets it so."""
    providers = ResourceProvider.objects.filter(generation__lt=0).values_list("uuid", "generation")
    consumers = Consumer.objects.filter(generation__lt=0).values_list("uuid", "generation")
    return [(uuid, None, number) for uuid, number in providers] + [(None, uuid, number) for uuid, number in consumers]


def stamps_ahead() -> list[UUID]:
    """Providers with stamps that are still to be handed out, as after restoring a dump of another server.

    On SQLite the next stamp is always above all that are there, so none is ahead.
    """
    if connection.vendor != "postgresql":
        return []
    return list(
        ResourceProvider.objects.filter(changed__gte=_NEXT_STAMP).order_by("name").values_list("uuid", flat=True)
    )


@dataclass(frozen=True, slots=True)
class ComputeProviderFacts:
    """The root provider of what should be a compute node."""

    uuid: UUID
    name: str
    children: int
    consumers: int


def compute_providers_older_than(*, seconds: float) -> list[ComputeProviderFacts]:
    """Root providers of compute nodes that have existed for longer than this by the database's clock. One query."""
    rows = ResourceProvider.objects.filter(
        kind=ProviderKind.COMPUTE, parent=None, created_at__lt=now_plus(-seconds)
    ).annotate(
        child_count=Count("children", distinct=True), consumer_count=Count("allocations__consumer", distinct=True)
    )
    return [
        ComputeProviderFacts(*row)
        for row in rows.order_by("name").values_list("uuid", "name", "child_count", "consumer_count")
    ]
