"""What instances have of their host's NUMA cells and PCI devices."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from computeagent.protocol.pci import GivenDevice
from computeagent.protocol.topology import GuestTopology
from computeagent.protocol.topology_json import guest_from_dict
from controlplane.infra.db import now_plus, uuid_value
from scheduling.models import TopologyClaim


@dataclass(frozen=True, slots=True)
class PlacedTopology:
    """Where one guest is on its host: `numa` has host cells, pinning, reserved CPUs and page sizes filled in; None for
    a guest that asks for no NUMA placement. `pci_devices` are in the order of addresses.
    """

    numa: GuestTopology | None
    pci_devices: tuple[GivenDevice, ...] = ()


def topology_of_instance(instance_uuid: UUID) -> PlacedTopology | None:
    """What this instance was given; None for one that asked for nothing of the kind. One query, in SQL, since each
    piece of an agent's work asks it.
    """
    text = "SELECT * FROM scheduling_topologyclaim WHERE consumer_uuid = %s"
    row = next(iter(TopologyClaim.objects.raw(text, [uuid_value(instance_uuid)])), None)
    return None if row is None else _placed(row)


def topologies_of_instances(instances: Iterable[UUID]) -> dict[UUID, PlacedTopology]:
    """As `topology_of_instance`, by instance; those that asked for nothing of the kind are left out. One query."""
    return {row.pk: _placed(row) for row in TopologyClaim.objects.filter(pk__in=list(instances))}


def _placed(row: TopologyClaim) -> PlacedTopology:
    devices = (GivenDevice(**each) for each in row.pci_devices)
    return PlacedTopology(
        None if row.numa is None else guest_from_dict(row.numa), tuple(sorted(devices, key=lambda each: each.address))
    )


def topology_owners_older_than(*, seconds: float) -> list[UUID]:
    """Instances that were given cells or devices more than so many seconds ago, by the database's clock."""
    rows = TopologyClaim.objects.filter(created_at__lt=now_plus(-seconds))
    return list(rows.order_by("created_at").values_list("pk", flat=True))


def topology_nodes() -> dict[UUID, UUID]:
    """{instance: the compute node it has cells or devices of}."""
    return dict(TopologyClaim.objects.values_list("pk", "compute_node_id"))
