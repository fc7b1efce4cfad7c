"""The audit of placement's own invariant: what is used is what is allocated, and fits."""

from placement.domain import Finding, FindingKind
from placement.domain.findings import inventory_findings
from placement.selectors.audit_facts import allocations_without_inventory, empty_consumers, inventory_facts


def audit_inventory_usage() -> list[Finding]:
    """All findings, none when placement keeps invariant 1. Changes nothing; safe while claims run.

    Each kind is read in one statement, so a claim that is under way never looks like a finding.
    """
    found = inventory_findings(inventory_facts())
    found += [
        Finding(
            kind=FindingKind.ALLOCATION_WITHOUT_INVENTORY, provider_uuid=provider, resource_class=name, allocated=amount
        )
        for provider, name, amount in allocations_without_inventory()
    ]
    found += [Finding(kind=FindingKind.CONSUMER_WITHOUT_ALLOCATIONS, consumer_uuid=uuid) for uuid in empty_consumers()]
    return found
