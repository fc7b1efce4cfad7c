"""What the audit compares. Each function is one statement, so what it returns was true at one moment."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from placement.domain.findings import InventoryFacts
from placement.models import Allocation, Consumer, Inventory


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
