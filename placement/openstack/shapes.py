"""What answers of the Placement API hold. What a version lacks is not required."""

from typing import NotRequired, TypedDict
from uuid import UUID

from controlplane.openstack.shapes import LinkJson


class PlacementVersionJson(TypedDict):
    id: str
    max_version: str
    min_version: str
    status: str
    links: list[LinkJson]


class PlacementVersionsShown(TypedDict):
    versions: list[PlacementVersionJson]


class ResourceClassJson(TypedDict):
    name: str
    links: list[LinkJson]


class ResourceClassesShown(TypedDict):
    resource_classes: list[ResourceClassJson]


class TraitsShown(TypedDict):
    traits: list[str]


class ProviderTraitsShown(TraitsShown):
    resource_provider_generation: int


class ProviderJson(TypedDict):
    """A resource provider."""

    uuid: str
    name: str
    generation: int
    links: list[LinkJson]
    parent_provider_uuid: NotRequired[str | None]
    root_provider_uuid: NotRequired[str]


class ProvidersShown(TypedDict):
    resource_providers: list[ProviderJson]


class InventoryJson(TypedDict):
    """What a provider has of one class, in the class's own unit."""

    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float


class ProviderInventoryShown(InventoryJson):
    resource_provider_generation: int


class InventoriesShown(TypedDict):
    """By resource class."""

    resource_provider_generation: int
    inventories: dict[str, InventoryJson]


class AggregatesShown(TypedDict):
    aggregates: list[str]
    resource_provider_generation: NotRequired[int]


class ProviderUsagesShown(TypedDict):
    """By resource class."""

    resource_provider_generation: int
    usages: dict[str, int]


class UsagesShown(TypedDict):
    """By resource class."""

    usages: dict[str, int]


class UsagesByTypeShown(TypedDict):
    """By type of consumer: how many consumers there are, and what they hold by resource class."""

    usages: dict[str, dict[str, int]]


class HeldByConsumerJson(TypedDict):
    resources: dict[str, int]
    consumer_generation: NotRequired[int]


class ProviderAllocationsShown(TypedDict):
    """By the UUID of the consumer."""

    allocations: dict[str, HeldByConsumerJson]
    resource_provider_generation: int


class HeldOfProviderJson(TypedDict):
    resources: dict[str, int]
    generation: int


class ConsumerAllocationsShown(TypedDict):
    """By the UUID of the provider. Of who holds nothing, nothing else is known."""

    allocations: dict[str, HeldOfProviderJson]
    project_id: NotRequired[str]
    user_id: NotRequired[str]
    consumer_generation: NotRequired[int]
    consumer_type: NotRequired[str]


class ProviderName(TypedDict):
    uuid: UUID


class ListedAllocation(TypedDict):
    resource_provider: ProviderName
    resources: dict[str, int]


class ListedRequest(TypedDict):
    """A candidate as the oldest versions have it."""

    allocations: list[ListedAllocation]


class AskedOfProvider(TypedDict):
    resources: dict[str, int]


class AllocationRequest(TypedDict):
    """A candidate: what is taken by the UUID of the provider, and which providers serve each group of the request."""

    allocations: dict[str, AskedOfProvider]
    mappings: NotRequired[dict[str, list[str]]]


class CapacityJson(TypedDict):
    capacity: int
    used: int


class ProviderSummary(TypedDict):
    resources: dict[str, CapacityJson]
    traits: NotRequired[list[str]]
    parent_provider_uuid: NotRequired[UUID | None]
    root_provider_uuid: NotRequired[UUID]


class CandidatesShown(TypedDict):
    """The candidates, and the providers that they name, by UUID."""

    allocation_requests: list[AllocationRequest | ListedRequest]
    provider_summaries: dict[str, ProviderSummary]
