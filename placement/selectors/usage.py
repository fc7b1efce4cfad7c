"""Inventories with what is used of them."""

from collections.abc import Collection
from uuid import UUID

from placement.domain import InventoryUsage
from placement.models import Inventory, ResourceClass, ResourceProvider

# In the order of InventoryUsage's fields.
_NUMBERS = (
    "total",
    "reserved",
    "allocation_ratio",
    "used",
    "capacity",
    "min_unit",
    "max_unit",
    "step_size",
)


def fleet_usage(provider_uuids: Collection[UUID] | None = None) -> dict[UUID, dict[str, InventoryUsage]]:
    """{provider: {resource class: inventory and usage}} of these providers, or of all.

    Three queries, whatever the size of the fleet: names and uuids are read once each, not once per inventory. A
    provider without inventory is there with an empty dict.
    """
    providers = ResourceProvider.objects.all()
    inventories = Inventory.objects.order_by()
    if provider_uuids is not None:
        providers = providers.filter(uuid__in=provider_uuids)
        inventories = inventories.filter(provider__uuid__in=provider_uuids)
    uuids = dict(providers.order_by().values_list("pk", "uuid"))
    names = dict(ResourceClass.objects.order_by().values_list("pk", "name"))
    found: dict[UUID, dict[str, InventoryUsage]] = {uuid: {} for uuid in uuids.values()}
    for provider_id, class_id, *numbers in inventories.values_list("provider_id", "resource_class_id", *_NUMBERS):
        # A provider or class made between two queries is left for the next look.
        if provider_id in uuids and class_id in names:
            found[uuids[provider_id]][names[class_id]] = InventoryUsage(*numbers)
    return found
