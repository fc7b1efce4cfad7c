"""Rules and shapes of placement without Django: what other apps may hold in their hands."""

from placement.domain.claim import Amounts, Claim, Demand, check_claims, demands_of
from placement.domain.findings import Finding, FindingKind
from placement.domain.inventory import MAX_INT, InventorySpec, InventoryUsage, capacity_of
from placement.domain.names import TraitOwner, is_custom, is_valid_name
from placement.domain.shortage import Rule, Shortage, broken_rule, capacity_error
from placement.domain.shown import AllocationView, ConsumerView, ProviderKind, ProviderView

__all__ = [
    "MAX_INT",
    "AllocationView",
    "Amounts",
    "Claim",
    "ConsumerView",
    "Demand",
    "Finding",
    "FindingKind",
    "InventorySpec",
    "InventoryUsage",
    "ProviderKind",
    "ProviderView",
    "Rule",
    "Shortage",
    "TraitOwner",
    "broken_rule",
    "capacity_error",
    "capacity_of",
    "check_claims",
    "demands_of",
    "is_custom",
    "is_valid_name",
]
