"""Rows of the host table from compute nodes, services, cells, aggregates, Placement's usage and facts of instances.

The one place that says what a row holds. `fleet_cache` makes rows of records that it keeps; `host_rows` of model
objects that were read just now.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

from controlplane.infra.db import db_now
from placement.candidates import ProviderFacts
from placement.candidates.columns import FleetView
from scheduling.domain.hosts.host_rows import UNKNOWN_TRUST, AggregateRow, HostRow
from scheduling.fleet.facts import NO_METRICS, FleetFacts, HostInstances
from scheduling.fleet.selectors.hosts import host_nodes
from scheduling.models import Aggregate, Cell, ComputeNode, HostMapping

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
    "numa_topology",
    "pci_pools",
)
SERVICE_COLUMNS = tuple(
    f"service__{name}"
    for name in ("host", "binary", "disabled", "disabled_reason", "forced_down", "last_seen_up", "version")
)


class ServiceLike(Protocol):
    """What a row takes of a service."""

    @property
    def host(self) -> str: ...
    @property
    def binary(self) -> str: ...
    @property
    def disabled(self) -> bool: ...
    @property
    def disabled_reason(self) -> str: ...
    @property
    def forced_down(self) -> bool: ...
    @property
    def version(self) -> int: ...


class CellLike(Protocol):
    """What a row takes of a cell."""

    @property
    def id(self) -> UUID: ...
    @property
    def name(self) -> str: ...
    @property
    def disabled(self) -> bool: ...


class NodeLike(Protocol):
    """What a row takes of a compute node."""

    @property
    def id(self) -> UUID: ...
    @property
    def host(self) -> str: ...
    @property
    def hypervisor_hostname(self) -> str: ...
    @property
    def hypervisor_type(self) -> str: ...
    @property
    def hypervisor_version(self) -> int: ...
    @property
    def host_ip(self) -> str: ...
    @property
    def disk_available_least_gib(self) -> int: ...
    @property
    def failed_builds(self) -> int: ...
    @property
    def supported_instances(self) -> Any: ...
    @property
    def cpu_info(self) -> Any: ...
    @property
    def stats(self) -> Any: ...
    @property
    def numa_topology(self) -> Any: ...
    @property
    def pci_pools(self) -> Any: ...


def compute_nodes() -> list[ComputeNode]:
    """Every compute node with its service and `is_up`. One query."""
    return list(host_nodes().only(*NODE_COLUMNS, *SERVICE_COLUMNS))


def host_rows(*, nodes: Iterable[ComputeNode], fleet: FleetView, facts: FleetFacts) -> list[HostRow]:
    """One row for each of the nodes (from `compute_nodes`) whose host is mapped to a cell; inventories from `fleet`.

    The number of queries does not grow with the fleet.
    """
    cells = _cells_by_host()
    now = db_now().timestamp()
    return [_row_of_model(node, cells[node.host], fleet, facts, now) for node in nodes if node.host in cells]


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


def provider_of(fleet: FleetView, uuid: UUID) -> ProviderFacts:
    """The node's provider; an empty one while Placement does not have it."""
    row = fleet.row_of.get(uuid)
    return ProviderFacts(uuid, uuid, {}) if row is None else fleet.fact(row)


def host_row(
    node: NodeLike,
    service: ServiceLike,
    cell: CellLike,
    *,
    provider: ProviderFacts,
    here: HostInstances,
    is_up: bool,
    detail: str,
    trust: str = UNKNOWN_TRUST,
    metrics: Mapping[str, float] = NO_METRICS,
) -> HostRow:
    """The row of one node; `detail` as `status_detail` gives it."""
    return HostRow(
        host=node.host,
        nodename=node.hypervisor_hostname,
        uuid=str(node.id),
        cell_uuid=str(cell.id),
        inventories=provider.inventories,
        enabled=not (service.disabled or cell.disabled),
        up=is_up,
        status_detail=detail,
        disk_available_least_gib=node.disk_available_least_gib,
        num_io_ops=here.num_io_ops,
        num_instances=here.num_instances,
        failed_builds=node.failed_builds,
        hypervisor_type=node.hypervisor_type,
        hypervisor_version=node.hypervisor_version,
        host_ip=node.host_ip,
        traits=provider.traits,
        instances=here.instance_uuids,
        supported_instances=_triples(node.supported_instances),
        cpu_info=node.cpu_info,
        stats=stats_with(node.stats, here),
        metrics=metrics,
        service=_service(service, is_up=is_up),
        flavor_ids=here.flavor_ids,
        image_properties=here.image_properties,
        numa_topology=node.numa_topology,
        pci_pools=node.pci_pools,
        trust_level=trust,
    )


def stats_with(stats: Any, here: HostInstances) -> Any:
    """The driver's stats and those of the instances; the same object where there are none of these."""
    return {**stats, **here.stats} if here.stats else stats


def status_detail(service: ServiceLike, cell: CellLike, *, is_up: bool, silent_s: float | None) -> str:
    """What is said along with a refusal for being disabled or down; `silent_s`: since the last heartbeat, if any."""
    if service.disabled:
        return service.disabled_reason
    if cell.disabled:
        return f"cell {cell.name} is disabled"
    if is_up:
        return ""
    if service.forced_down:
        return "forced down"
    if silent_s is None:
        return "never seen"
    return f"last seen {max(0, round(silent_s))} s ago"


def _row_of_model(node: ComputeNode, cell: Cell, fleet: FleetView, facts: FleetFacts, now: float) -> HostRow:
    is_up = bool(getattr(node, "is_up", False))
    seen = node.service.last_seen_up
    silent_s = None if seen is None else now - seen.timestamp()
    return host_row(
        node,
        node.service,
        cell,
        provider=provider_of(fleet, node.id),
        here=facts.of(node.host),
        is_up=is_up,
        detail=status_detail(node.service, cell, is_up=is_up, silent_s=silent_s),
        trust=facts.trust_levels.get(node.hypervisor_hostname, UNKNOWN_TRUST),
        metrics=facts.metrics.get(node.hypervisor_hostname, NO_METRICS),
    )


def _cells_by_host() -> dict[str, Cell]:
    """Two small queries instead of a join that repeats the cell for each host."""
    cells = Cell.objects.in_bulk()
    return {host: cells[pk] for host, pk in HostMapping.objects.values_list("host", "cell_id") if pk in cells}


def _triples(given: Any) -> tuple[tuple[str, str, str], ...]:
    return given if isinstance(given, tuple) else tuple((one[0], one[1], one[2]) for one in given)


def _service(service: ServiceLike, *, is_up: bool) -> dict[str, Any]:
    """The service as plug-ins written for Nova look at it."""
    return {
        "host": service.host,
        "binary": service.binary,
        "disabled": service.disabled,
        "disabled_reason": service.disabled_reason,
        "forced_down": service.forced_down,
        "is_up": is_up,
        "version": service.version,
    }
