"""On which hosts consumers hold something already, also those that have no instance row yet."""

from collections.abc import Collection, Sequence
from uuid import UUID

from placement.selectors import allocations_by_consumer
from scheduling.models import ComputeNode


def claimed_hosts(consumers: Sequence[UUID]) -> set[str]:
    """Service hosts on whose own provider these consumers have a claim. Two queries."""
    held = allocations_by_consumer(list(consumers)) if consumers else {}
    return hosts_of_nodes({one.provider_uuid for rows in held.values() for one in rows})


def hosts_of_nodes(providers: Collection[UUID]) -> set[str]:
    """Service hosts of those providers that are compute nodes. One query; none for no provider."""
    if not providers:
        return set()
    return set(ComputeNode.objects.filter(id__in=providers).values_list("host", flat=True))
