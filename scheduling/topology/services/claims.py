"""NUMA cells, pinned CPUs, pages and PCI devices: claimed and freed together with allocations, in one transaction.

Nova leaves these to the host's own claim, so that two schedulers can promise the same CPU and one of them is refused
late. Here the node's row is the lock: whoever holds it sees every claim made before, and fits its guest into what is
left.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError

from computeagent.protocol.topology_json import guest_to_dict
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, NoCapacity
from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import phrase as _
from placement.domain import Claim
from placement.services import allocations_claim, allocations_free
from scheduling.models import ComputeNode, PciDevice, TopologyClaim
from scheduling.topology.domain.grant import Grant, TopologyNeeds, grant
from scheduling.topology.domain.loss import loss_of
from scheduling.topology.domain.pci.devices import allocate, free
from scheduling.topology.services.rows import node_devices, node_rewrite, node_topology, nodes_lock


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """What one instance shall have of one node."""

    consumer_uuid: UUID
    compute_node_uuid: UUID
    needs: TopologyNeeds


def claims_make(claims: Sequence[Claim], topology_requests: Sequence[TopologyRequest]) -> None:
    """Allocations and topology for every instance of the batch, or nothing for anybody.

    Raises NoCapacity, with `shortages` as Placement's and, for what a host's cells or devices cannot give, each with
    `compute_node_uuid`, `reason` and `detail`; and Conflict when an instance holds something already.
    """
    if not topology_requests:
        allocations_claim(claims)
        return
    in_transaction(lambda: _make(claims, topology_requests))


def topologies_claim(topology_requests: Sequence[TopologyRequest]) -> None:
    """The part of `claims_make` that is not in Placement. Errors as there."""
    try:
        in_transaction(lambda: _claim(topology_requests))
    except IntegrityError as error:
        raise _held([request_of_topology.consumer_uuid for request_of_topology in topology_requests]) from error


def claims_free(consumer_uuids: Iterable[UUID]) -> int:
    """Give back allocations and topology; the number of instances that held something in Placement.

    Freeing twice gives back once. Unknown instances are no error.
    """
    uuids = set(consumer_uuids)
    if not TopologyClaim.objects.filter(pk__in=uuids).exists():
        return allocations_free(uuids)

    def work() -> int:
        topologies_free(uuids)
        return allocations_free(uuids)

    return in_transaction(work)


def topologies_free(consumer_uuids: Iterable[UUID]) -> int:
    """Give back cells, CPUs, pages and devices alone; the number of instances that had some."""
    uuids = set(consumer_uuids)
    return in_transaction(lambda: _free(uuids)) if uuids else 0


def devices_allocate(*, consumer_uuid: UUID) -> None:
    """The guest runs: what it was promised of PCI devices is in it now."""

    def work() -> None:
        for node in _nodes_of({consumer_uuid}):
            node_rewrite(node, node_topology(node).host, allocate(node_devices(node), str(consumer_uuid)))

    if PciDevice.objects.filter(owner_uuid=consumer_uuid).exists():
        in_transaction(work)


def _make(claims: Sequence[Claim], topology_requests: Sequence[TopologyRequest]) -> None:
    topologies_claim(topology_requests)
    allocations_claim(claims)


def _claim(topology_requests: Sequence[TopologyRequest]) -> None:
    consumers = [request_of_topology.consumer_uuid for request_of_topology in topology_requests]
    nodes = nodes_lock({request_of_topology.compute_node_uuid for request_of_topology in topology_requests})
    if TopologyClaim.objects.filter(pk__in=consumers).exists():
        raise _held(consumers)
    by_node: dict[UUID, list[TopologyRequest]] = defaultdict(list)
    for request_of_topology in topology_requests:
        by_node[request_of_topology.compute_node_uuid].append(request_of_topology)
    losses = [loss for uuid in sorted(by_node) if (loss := _claim_on(nodes.get(uuid), by_node[uuid])) is not None]
    if losses:
        sentences = "; ".join(loss["sentence"] for loss in losses)
        raise NoCapacity(_("No room: {sentences}", sentences=sentences), shortages=losses)


def _claim_on(node: ComputeNode | None, topology_requests: Sequence[TopologyRequest]) -> dict[str, Any] | None:
    """All requests of one node, one after the other; the first that cannot be met, as a loss."""
    if node is None:
        return loss_of(
            topology_requests[0].compute_node_uuid, Refusal(RefusalReason.NUMA_TOPOLOGY_MISSING, detail="host is gone")
        )
    left = node_topology(node)
    rows: list[TopologyClaim] = []
    for request_of_topology in topology_requests:
        found = grant(left, request_of_topology.needs, str(request_of_topology.consumer_uuid))
        if isinstance(found, Refusal):
            return loss_of(node.pk, found)
        rows.append(_row(node, request_of_topology, found))
        left = found.left
    TopologyClaim.objects.bulk_create(rows)
    node_rewrite(node, left.host, left.devices)
    return None


def _row(node: ComputeNode, request_of_topology: TopologyRequest, found: Grant) -> TopologyClaim:
    return TopologyClaim(
        consumer_uuid=request_of_topology.consumer_uuid,
        compute_node=node,
        numa=None if found.numa is None else guest_to_dict(found.numa),
        pci_devices=[asdict(device) for device in found.devices],
    )


def _free(uuids: set[UUID]) -> int:
    nodes = _nodes_of(uuids)
    freed, _ = TopologyClaim.objects.filter(pk__in=uuids, compute_node__in=nodes).delete()
    for node in nodes:
        now = node_topology(node)
        devices = now.devices
        for uuid in uuids:
            devices = free(devices, str(uuid))
        node_rewrite(node, now.host, devices)
    return freed


def _nodes_of(uuids: set[UUID]) -> list[ComputeNode]:
    """The nodes that these instances have something of, locked."""
    ids = set(TopologyClaim.objects.filter(pk__in=uuids).values_list("compute_node_id", flat=True))
    return list(nodes_lock(ids).values())


def _held(consumers: Sequence[UUID]) -> Conflict:
    names = [str(uuid) for uuid in consumers]
    return Conflict(_("An instance of the batch holds part of a host's topology already."), consumer_uuids=names)
