"""What instances have of their host's NUMA cells and PCI devices."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.infra.db import now_plus
from scheduling.models import TopologyClaim


@dataclass(frozen=True, slots=True)
class PlacedTopology:
    """Where one guest is on its host: `numa` in the form of `topology.domain.numa.codec.guest_to_dict`, with host
    cells, pinning, reserved CPUs and page sizes filled in; None for a guest that asks for no NUMA placement.

    `pci_devices` are its devices, each an object with `address`, `alias` and `request_id`, in the order of addresses.
    """

    numa: dict[str, Any] | None
    pci_addresses: tuple[str, ...]
    pci_devices: tuple[dict[str, str], ...] = ()


def topology_of_instance(instance_uuid: UUID) -> PlacedTopology | None:
    """What this instance was given; None for one that asked for nothing of the kind. One query."""
    row = TopologyClaim.objects.filter(pk=instance_uuid).first()
    if row is None:
        return None
    devices = tuple(sorted(row.pci_devices, key=lambda each: str(each["address"])))
    return PlacedTopology(row.numa, tuple(each["address"] for each in devices), devices)


def topology_owners_older_than(*, seconds: float) -> list[UUID]:
    """Instances that were given cells or devices more than so many seconds ago, by the database's clock."""
    rows = TopologyClaim.objects.filter(created_at__lt=now_plus(-seconds))
    return list(rows.order_by("created_at").values_list("pk", flat=True))


def topology_nodes() -> dict[UUID, UUID]:
    """{instance: the compute node it has cells or devices of}."""
    return dict(TopologyClaim.objects.values_list("pk", "compute_node_id"))
