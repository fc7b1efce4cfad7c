"""The rows behind a node's topology: locked, read as the domain sees them, and written back.

Locks of nodes come before those of Placement, and several nodes are locked in the order of their ids: a host that
registers locks its node first as well.
"""

import logging
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from computeagent.protocol.pci import DeviceState
from computeagent.protocol.pci import PciDeviceRecord as Device
from computeagent.protocol.topology import HostTopology
from computeagent.protocol.topology_json import guest_from_dict, host_from_dict, host_to_dict
from scheduling.models import ComputeNode, PciDevice, TopologyClaim
from scheduling.topology.domain.grant import NodeTopology
from scheduling.topology.domain.numa.occupancy import occupied
from scheduling.topology.domain.pci.codec import pools_to_list
from scheduling.topology.domain.pci.devices import Devices, pools_of
from scheduling.topology.selectors.pci_devices import device_record

log = logging.getLogger(__name__)


def nodes_lock(ids: Collection[UUID]) -> dict[UUID, ComputeNode]:
    """These nodes, locked until the transaction ends."""
    rows = ComputeNode.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=ids).order_by("pk")
    return {node.pk: node for node in rows}


def node_topology(node: ComputeNode) -> NodeTopology:
    """What the locked node has, with usage counted anew from its claims."""
    host = host_from_dict(node.numa_topology) if node.numa_topology else None
    return NodeTopology(_counted(node, host), node_devices(node))


def node_devices(node: ComputeNode) -> Devices:
    """The node's devices, in the order of addresses."""
    rows = PciDevice.objects.filter(compute_node=node).order_by("address")
    return tuple(device_record(row) for row in rows)


def node_rewrite(node: ComputeNode, host: HostTopology | None, devices: Devices) -> None:
    """Store a node's cells, usage counted anew from its claims, and its devices; rows that stay equal are left."""
    devices_store(node, devices)
    wanted: dict[str, Any] = {
        "numa_topology": None if (found := _counted(node, host)) is None else host_to_dict(found),
        "pci_pools": pools_to_list(pools_of(devices)),
    }
    changed = {name: value for name, value in wanted.items() if getattr(node, name) != value}
    if changed:
        ComputeNode.objects.filter(pk=node.pk).update(**changed, updated_at=Now())
        for name, value in changed.items():
            setattr(node, name, value)


def devices_store(node: ComputeNode, devices: Iterable[Device]) -> None:
    """Insert, change and remove rows so that they are these devices; a device in state `deleted` has no row."""
    rows = {row.address: row for row in PciDevice.objects.filter(compute_node=node)}
    wanted = {each.address: each for each in devices if each.state is not DeviceState.DELETED}
    gone = [row.pk for address, row in rows.items() if address not in wanted]
    if gone:
        PciDevice.objects.filter(pk__in=gone).delete()
    PciDevice.objects.bulk_create(
        PciDevice(compute_node=node, address=address, **_columns(each))
        for address, each in wanted.items()
        if address not in rows
    )
    for address, row in rows.items():
        if address in wanted and device_record(row) != wanted[address]:
            PciDevice.objects.filter(pk=row.pk).update(**_columns(wanted[address]), updated_at=Now())


def _counted(node: ComputeNode, host: HostTopology | None) -> HostTopology | None:
    """The cells with the node's claims on them. What a claim has and the host does not is noted with the claim."""
    claims = list(TopologyClaim.objects.filter(compute_node=node, numa__isnull=False).order_by("consumer_uuid"))
    guests = {claim.pk: guest_from_dict(claim.numa) for claim in claims if claim.numa is not None}
    found, problems = occupied(host, guests)
    for claim in claims:
        problem = problems.get(claim.pk, "")
        if claim.problem != problem:
            log.warning("instance %s on %s: %s", claim.pk, node.host, problem or "all of its topology is there again")
            TopologyClaim.objects.filter(pk=claim.pk).update(problem=problem)
    return found


def _columns(device: Device) -> dict[str, Any]:
    return {
        "vendor_id": device.vendor_id,
        "product_id": device.product_id,
        "dev_type": device.dev_type,
        "numa_node": device.numa_node,
        "parent_address": device.parent_address,
        "label": device.label,
        "tags": dict(device.tags),
        "state": device.state.value,
        "owner_uuid": UUID(device.owner) if device.owner else None,
    }
