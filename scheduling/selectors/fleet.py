"""The fleet as the scheduler's host table: compute nodes, services, aggregates, Placement's usage, in one go."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from controlplane.infra.db import db_now
from placement.domain import InventoryUsage
from placement.selectors import fleet_usage, provider_traits_by_uuid
from scheduling.domain.host_rows import AggregateRow, HostRow, InventoryRow
from scheduling.models import Aggregate, Cell, ComputeNode, HostMapping
from scheduling.selectors.facts import FleetFacts, HostFacts
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
)
SERVICE_COLUMNS = tuple(
    f"service__{name}"
    for name in ("host", "binary", "disabled", "disabled_reason", "forced_down", "last_seen_up", "version")
)


def host_rows(*, facts: FleetFacts) -> list[HostRow]:
    """One row per compute node whose host is mapped to a cell. The number of queries does not grow with the fleet."""
    nodes = list(host_nodes().only(*NODE_COLUMNS, *SERVICE_COLUMNS))
    usage = fleet_usage()
    traits = provider_traits_by_uuid()
    cells = _cells_by_host()
    now = db_now()
    return [
        _host_row(
            node,
            cells[node.host],
            usage.get(node.id, {}),
            traits.get(node.id, frozenset()),
            facts=facts.of(node.host),
            now=now,
        )
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


def _cells_by_host() -> dict[str, Cell]:
    """Two small queries instead of a join that repeats the cell for each host."""
    cells = Cell.objects.in_bulk()
    return {host: cells[pk] for host, pk in HostMapping.objects.values_list("host", "cell_id") if pk in cells}


def _host_row(
    node: ComputeNode,
    cell: Cell,
    usage: Mapping[str, InventoryUsage],
    traits: frozenset[str],
    *,
    facts: HostFacts,
    now: datetime,
) -> HostRow:
    is_up = bool(getattr(node, "is_up", False))
    return HostRow(
        host=node.host,
        nodename=node.hypervisor_hostname,
        uuid=str(node.id),
        cell_uuid=str(cell.id),
        inventories={name: _inventory_row(one) for name, one in usage.items()},
        enabled=not (node.service.disabled or cell.disabled),
        up=is_up,
        status_detail=_status_detail(node, cell, is_up=is_up, now=now),
        disk_available_least_gib=node.disk_available_least_gib,
        num_io_ops=facts.num_io_ops,
        num_instances=facts.num_instances,
        failed_builds=node.failed_builds,
        hypervisor_type=node.hypervisor_type,
        hypervisor_version=node.hypervisor_version,
        host_ip=node.host_ip,
        traits=traits,
        instances=facts.instance_uuids,
        supported_instances=tuple((one[0], one[1], one[2]) for one in node.supported_instances),
        cpu_info=node.cpu_info,
        stats=node.stats,
        metrics=node.metrics,
        service=_service(node, is_up=is_up),
    )


def _inventory_row(one: InventoryUsage) -> InventoryRow:
    return InventoryRow(
        total=one.total,
        used=one.used,
        reserved=one.reserved,
        allocation_ratio=one.allocation_ratio,
        min_unit=one.min_unit,
        max_unit=one.max_unit,
        step_size=one.step_size,
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
