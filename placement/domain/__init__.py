"""Rules and shapes of placement without Django: what other apps may hold in their hands."""

from placement.domain.claim import (
    INCOMPLETE_OWNER,
    UNCHECKED,
    Amounts,
    Claim,
    ConsumerState,
    CountLimit,
    Demand,
    Unchecked,
    check_claims,
    check_states,
    demands_of,
)
from placement.domain.errors import ConsumerChanged, InventoryInUse, ProviderChanged
from placement.domain.findings import FindingKind, ProviderFinding
from placement.domain.inventory import MAX_INT, InventorySpec, InventoryUsage, capacity_of
from placement.domain.names import TraitOwner, is_custom, is_valid_name, standard_resource_classes, standard_traits
from placement.domain.shortage import AmountRule, CountShortage, Shortage, broken_rule, capacity_error
from placement.domain.shown import AllocationView, ConsumerView, ProviderKind, ProviderView

__all__ = [
    "INCOMPLETE_OWNER",
    "MAX_INT",
    "UNCHECKED",
    "AllocationView",
    "AmountRule",
    "Amounts",
    "Claim",
    "ConsumerChanged",
    "ConsumerState",
    "ConsumerView",
    "CountLimit",
    "CountShortage",
    "Demand",
    "FindingKind",
    "InventoryInUse",
    "InventorySpec",
    "InventoryUsage",
    "ProviderChanged",
    "ProviderFinding",
    "ProviderKind",
    "ProviderView",
    "Shortage",
    "TraitOwner",
    "Unchecked",
    "broken_rule",
    "capacity_error",
    "capacity_of",
    "check_claims",
    "check_states",
    "demands_of",
    "is_custom",
    "is_valid_name",
    "standard_resource_classes",
    "standard_traits",
]
