"""The audit of cells and devices. Each kind is read in one statement, so that a claim under way is no finding."""

from collections import defaultdict
from collections.abc import Iterator
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from computeagent.protocol.pci import DeviceState
from computeagent.protocol.topology import GuestTopology
from computeagent.protocol.topology_json import guest_from_dict, host_from_dict
from controlplane.kernel.texts import phrase as _
from scheduling.models import ComputeNode, PciDevice, TopologyClaim
from scheduling.topology.domain.audit import TopologyFinding, cpu_findings, device_findings

_GIVEN = (DeviceState.CLAIMED, DeviceState.ALLOCATED, DeviceState.REMOVED)


def topology_findings() -> list[TopologyFinding]:
    """CPUs and devices that two instances have or nobody has, and what hosts lack of what was claimed."""
    return [*_cpus(), *_devices_twice(), *_devices_of_nobody(), *_devices_lacking()]


def _cpus() -> Iterator[TopologyFinding]:
    rows = ComputeNode.objects.order_by("pk", "topology_claims__pk").values_list(
        "pk", "host", "numa_topology", "topology_claims__pk", "topology_claims__numa"
    )
    topologies: dict[UUID, tuple[str, dict[str, object] | None]] = {}
    guests: dict[UUID, dict[str, GuestTopology]] = defaultdict(dict)
    for node, host, topology, instance, numa in rows:
        topologies[node] = (host, topology)
        if numa:
            guests[node][str(instance)] = guest_from_dict(numa)
    for node, (host, topology) in topologies.items():
        if topology or guests[node]:
            yield from cpu_findings(host, str(node), host_from_dict(topology) if topology else None, guests[node])


def _devices_twice() -> Iterator[TopologyFinding]:
    claims: dict[UUID, dict[str, list[str]]] = defaultdict(dict)
    for node, instance, devices in _claims_with_devices().values_list("compute_node_id", "pk", "pci_devices"):
        claims[node][str(instance)] = [each["address"] for each in devices]
    for by_instance in claims.values():
        yield from device_findings(by_instance)


def _devices_of_nobody() -> Iterator[TopologyFinding]:
    """Rows that say they are given, and whose owner does not have them."""
    given = TopologyClaim.objects.filter(pk=OuterRef("owner_uuid"), compute_node=OuterRef("compute_node"))
    rows = PciDevice.objects.annotate(claimed=Subquery(given.values("pci_devices")[:1]))
    for row in rows.select_related("compute_node"):
        is_claimed = row.address in {each["address"] for each in row.claimed or ()}
        if (row.owner_uuid is not None or row.state in _GIVEN) and not is_claimed:
            message = _(
                "{host}: the PCI device {address} is {state}, and no instance has it",
                host=row.compute_node.host,
                address=row.address,
                state=row.state,
            )
            yield TopologyFinding(str(row.owner_uuid or row.compute_node_id), message)


def _devices_lacking() -> Iterator[TopologyFinding]:
    """Instances that own fewer rows than they were given devices."""
    own = PciDevice.objects.filter(owner_uuid=OuterRef("pk"), compute_node=OuterRef("compute_node")).order_by()
    counts = own.values("owner_uuid").annotate(number=Count("pk")).values("number")
    for row in _claims_with_devices().annotate(owned=Coalesce(Subquery(counts), 0)):
        if row.owned != len(row.pci_devices):
            message = _(
                "was given {count} PCI devices, and has {owned} recorded as claimed",
                count=len(row.pci_devices),
                owned=row.owned,
            )
            yield TopologyFinding(str(row.pk), message)


def _claims_with_devices() -> QuerySet[TopologyClaim]:
    return TopologyClaim.objects.exclude(pci_devices=[]).order_by("compute_node_id", "pk")
