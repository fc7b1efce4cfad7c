"""What many instances have of their hosts' NUMA cells and PCI devices, at once."""

from collections.abc import Iterable
from uuid import UUID

from scheduling.models import TopologyClaim
from scheduling.topology.selectors.claims import PlacedTopology


def topologies_of_instances(instances: Iterable[UUID]) -> dict[UUID, PlacedTopology]:
    """As `topology_of_instance`, by instance; those that asked for nothing of the kind are left out. One query."""
    rows = TopologyClaim.objects.filter(pk__in=list(instances)).values_list("pk", "numa", "pci_devices")
    return {pk: _placed(numa, devices) for pk, numa, devices in rows}


def _placed(numa: dict[str, object] | None, devices: list[dict[str, str]]) -> PlacedTopology:
    ordered = tuple(sorted(devices, key=lambda each: str(each["address"])))
    return PlacedTopology(numa, tuple(each["address"] for each in ordered), ordered)
