"""Placement's tables, all in the API scope. Private to this app: others use services and selectors."""

from placement.models.aggregate import PlacementAggregate, ProviderAggregate
from placement.models.allocation import Allocation, CountedConsumer, CountedKey
from placement.models.consumer import Consumer
from placement.models.inventory import Inventory
from placement.models.provider import ProviderRemoval, ResourceProvider
from placement.models.resource_class import ResourceClass
from placement.models.stamp import ChangeStamp
from placement.models.trait import ProviderTrait, Trait

__all__ = [
    "Allocation",
    "ChangeStamp",
    "Consumer",
    "CountedConsumer",
    "CountedKey",
    "Inventory",
    "PlacementAggregate",
    "ProviderAggregate",
    "ProviderRemoval",
    "ProviderTrait",
    "ResourceClass",
    "ResourceProvider",
    "Trait",
]
