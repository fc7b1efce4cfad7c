"""The audit of placement's own invariant: what is used is what is allocated, and fits."""

from placement.domain import FindingKind, ProviderFinding
from placement.domain.findings import inventory_findings, overcommitted_findings, tree_findings
from placement.selectors.audit_facts import (
    allocations_without_inventory,
    empty_consumers,
    inventory_facts,
    negative_generations,
    stamps_ahead,
    tree_audit_facts,
)


def audit_inventory_usage() -> list[ProviderFinding]:
    """All findings, none when placement keeps invariant 1. Changes nothing; safe while claims run.

    Each kind is read in one statement, so a claim that is under way never looks like a finding.
    """
    found = inventory_findings(inventory_facts())
    found += [
        ProviderFinding(
            kind=FindingKind.ALLOCATION_WITHOUT_INVENTORY, provider_uuid=provider, resource_class=name, allocated=amount
        )
        for provider, name, amount in allocations_without_inventory()
    ]
    found += [
        ProviderFinding(kind=FindingKind.CONSUMER_WITHOUT_ALLOCATIONS, consumer_uuid=uuid) for uuid in empty_consumers()
    ]
    return found


def audit_overcommitment() -> list[ProviderFinding]:
    """Inventories that were stated smaller than what is used of them. Allowed: nobody is to blame but the numbers."""
    return overcommitted_findings(inventory_facts())


def audit_providers() -> list[ProviderFinding]:
    """Trees, change stamps and generations that no service of ours leaves behind. Each kind is one statement."""
    found = tree_findings(tree_audit_facts())
    found += [ProviderFinding(FindingKind.STAMP_AHEAD, provider_uuid=uuid) for uuid in stamps_ahead()]
    found += [
        ProviderFinding(
            FindingKind.GENERATION_NEGATIVE, provider_uuid=provider, consumer_uuid=consumer, generation=number
        )
        for provider, consumer, number in negative_generations()
    ]
    return found
