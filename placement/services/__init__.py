"""What placement writes. Every service is one transaction; all lock in the order consumers, providers, inventories."""

from placement.services.aggregates import provider_aggregates_set
from placement.services.audit import audit_inventory_usage
from placement.services.claims import allocations_claim, allocations_free, allocations_move, allocations_reduce
from placement.services.extend import allocations_extend
from placement.services.inventories import inventory_put, inventory_remove, inventory_set
from placement.services.locks import providers_lock
from placement.services.names import standard_names_sync
from placement.services.providers import provider_delete, provider_ensure, provider_tree_delete
from placement.services.replace import allocations_replace
from placement.services.reshape import reshape
from placement.services.traits import provider_status_disabled, provider_traits_set

__all__ = [
    "allocations_claim",
    "allocations_extend",
    "allocations_free",
    "allocations_move",
    "allocations_reduce",
    "allocations_replace",
    "audit_inventory_usage",
    "inventory_put",
    "inventory_remove",
    "inventory_set",
    "provider_aggregates_set",
    "provider_delete",
    "provider_ensure",
    "provider_status_disabled",
    "provider_traits_set",
    "provider_tree_delete",
    "providers_lock",
    "reshape",
    "standard_names_sync",
]
