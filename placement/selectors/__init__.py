"""What others may read: values, and querysets for placement's own API, never models. Each takes constant queries."""

from placement.selectors.allocations import (
    allocation_list,
    allocations_by_consumer,
    client_consumers,
    consumer_generations,
    consumer_list,
    consumer_list_of_provider,
    consumers_older_than,
)
from placement.selectors.audit_facts import allocations_without_inventory, empty_consumers, inventory_facts
from placement.selectors.candidates import candidate_refusals, candidate_search, providers_matching
from placement.selectors.names import resource_class_list, trait_list
from placement.selectors.providers import (
    provider_aggregates_by_uuid,
    provider_find,
    provider_get,
    provider_list,
    provider_traits_by_uuid,
    provider_views,
)
from placement.selectors.snapshot import ProviderSnapshot, provider_snapshot
from placement.selectors.usage import (
    ResourceSum,
    amount_of,
    fleet_usage,
    usage_by_aggregate,
    usage_of_class,
    usage_of_compute_nodes,
)

__all__ = [
    "ProviderSnapshot",
    "ResourceSum",
    "allocation_list",
    "allocations_by_consumer",
    "allocations_without_inventory",
    "amount_of",
    "candidate_refusals",
    "candidate_search",
    "client_consumers",
    "consumer_generations",
    "consumer_list",
    "consumer_list_of_provider",
    "consumers_older_than",
    "empty_consumers",
    "fleet_usage",
    "inventory_facts",
    "provider_aggregates_by_uuid",
    "provider_find",
    "provider_get",
    "provider_list",
    "provider_snapshot",
    "provider_traits_by_uuid",
    "provider_views",
    "providers_matching",
    "resource_class_list",
    "trait_list",
    "usage_by_aggregate",
    "usage_of_class",
    "usage_of_compute_nodes",
]
