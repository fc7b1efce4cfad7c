"""The fleet as the scheduler's host table: compute nodes, services, aggregates, Placement's usage, in one go."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from controlplane.infra.db import db_now
from placement.candidates import ProviderFacts
from placement.candidates.columns import FleetView
from scheduling.domain.host_rows import UNKNOWN_TRUST, AggregateRow, HostRow
from scheduling.models import Aggregate, Cell, ComputeNode, HostMapping
from scheduling.selectors.facts import FleetFacts
from scheduling.selectors.hosts import host_nodes

# Only what a row needs: dates alone would double the cost of reading a large fleet.
NODE_COLUMNS = (
    "service",
    "host",
    "hypervisor_hostname",
    "hypervisor_type",
    "hypervisor_version",
    "host_ip",
    "disk_available_least_gib",
    "failed_builds",
    "supported_instances",
    "cpu_info",
    "stats",
    "metrics",
    "numa_topology",
    "pci_pools",
)
SERVICE_COLUMNS = tuple(
    f"service__{name}"
    for name in ("host", "binary", "disabled", "disabled_reason", "forced_down", "last_seen_up", "version")
)


def compute_nodes() -> list[ComputeNode]:
    """Every compute node with its service and `is_up`. One query."""
    return list(host_nodes().only(*NODE_COLUMNS, *SERVICE_COLUMNS))


def host_rows(*, nodes: Iterable[ComputeNode], fleet: FleetView, facts: FleetFacts) -> list[HostRow]:
    """One row for each of the nodes (from `compute_nodes`) whose host is mapped to a cell; inventories from `fleet`.

    The number of queries does not grow with the fleet.
    """
    cells = _cells_by_host()
    now = db_now()
    return [
        _host_row(node, cells[node.host], _provider(fleet, node.id), facts=facts, now=now)
        for node in nodes
        if node.host in cells
    ]


def aggregate_rows() -> list[AggregateRow]:
    """Every aggregate with its hosts. Two queries."""
    return [
        AggregateRow(
            uuid=str(aggregate.id),
            name=aggregate.name,
            hosts=frozenset(member.host for member in aggregate.members.all()),
            metadata=aggregate.metadata,
        )
        for aggregate in Aggregate.objects.prefetch_related("members")
    ]


def _provider(fleet: FleetView, uuid: UUID) -> ProviderFacts:
    """The node's provider; an empty one while Placement does not have it."""
    row = fleet.row_of.get(uuid)
    return ProviderFacts(uuid, uuid, {}) if row is None else fleet.fact(row)


def _cells_by_host() -> dict[str, Cell]:
    """Two small queries instead of a join that repeats the cell for each host."""
    cells = Cell.objects.in_bulk()
    return {host: cells[pk] for host, pk in HostMapping.objects.values_list("host", "cell_id") if pk in cells}


def _host_row(
    node: ComputeNode,
    cell: Cell,
    provider: ProviderFacts,
    *,
    facts: FleetFacts,
    now: datetime,
) -> HostRow:
    is_up = bool(getattr(node, "is_up", False))
    here = facts.of(node.host)
    return HostRow(
        host=node.host,
        nodename=node.hypervisor_hostname,
        uuid=str(node.id),
        cell_uuid=str(cell.id),
        inventories=provider.inventories,
        enabled=not (node.service.disabled or cell.disabled),
        up=is_up,
        status_detail=_status_detail(node, cell, is_up=is_up, now=now),
        disk_available_least_gib=node.disk_available_least_gib,
        num_io_ops=here.num_io_ops,
        num_instances=here.num_instances,
        failed_builds=node.failed_builds,
        hypervisor_type=node.hypervisor_type,
        hypervisor_version=node.hypervisor_version,
        host_ip=node.host_ip,
        traits=provider.traits,
        instances=here.instance_uuids,
        supported_instances=tuple((one[0], one[1], one[2]) for one in node.supported_instances),
        cpu_info=node.cpu_info,
        stats=node.stats,
        metrics=node.metrics,
        service=_service(node, is_up=is_up),
        flavor_ids=here.flavor_ids,
        image_properties=here.image_properties,
        numa_topology=node.numa_topology,
        pci_pools=node.pci_pools,
        trust_level=facts.trust_levels.get(node.hypervisor_hostname, UNKNOWN_TRUST),
    )


def _status_detail(node: ComputeNode, cell: Cell, *, is_up: bool, now: datetime) -> str:
    """What is said along with a refusal for being disabled or down."""
    service = node.service
    if service.disabled:
        return service.disabled_reason
    if cell.disabled:
        return f"cell {cell.name} is disabled"
    if is_up:
        return ""
    if service.forced_down:
        return "forced down"
    if service.last_seen_up is None:
        return "never seen"
    return f"last seen {max(0, round((now - service.last_seen_up).total_seconds()))} s ago"


def _service(node: ComputeNode, *, is_up: bool) -> dict[str, Any]:
    """The service as plug-ins written for Nova look at it."""
    service = node.service
    return {
        "host": service.host,
        "binary": service.binary,
        "disabled": service.disabled,
        "disabled_reason": service.disabled_reason,
        "forced_down": service.forced_down,
        "is_up": is_up,
        "version": service.version,
    }
