"""Placement in Django's admin: rows to read and search. What may be changed goes through services."""

from placement.admin.consumers import AllocationAdmin, ConsumerAdmin
from placement.admin.inventories import InventoryAdmin
from placement.admin.names import ResourceClassAdmin, TraitAdmin
from placement.admin.providers import ProviderAdmin

__all__ = [
    "AllocationAdmin",
    "ConsumerAdmin",
    "InventoryAdmin",
    "ProviderAdmin",
    "ResourceClassAdmin",
    "TraitAdmin",
]
