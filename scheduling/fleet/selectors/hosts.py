"""Hosts as people look at them: service, hypervisor, zone, state and what is promised of each resource."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import CharField, OuterRef, QuerySet, Subquery, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from controlplane.infra.natural_order import natural_order
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from placement.domain import InventoryUsage
from placement.selectors import fleet_usage
from scheduling.conf import scheduling_options
from scheduling.fleet.domain.clock import clock_is_off
from scheduling.fleet.selectors.liveness import nodes_with_is_up
from scheduling.models import Aggregate, AggregateHost, ComputeNode, HostMapping
from scheduling.models.aggregate import ZONE_KEY
from scheduling.models.liveness import up_condition

HostNode = ComputeNode
"""What `host_nodes` has, for the signatures of doors."""


@dataclass(frozen=True, slots=True)
class HostOverview:
    """One host with its hypervisor. `usage` is Placement's view by resource class; figures of the hypervisor itself
    stand in `node`. Memory MiB, disk GiB.
    """

    host: str
    node: ComputeNode
    cell_uuid: UUID | None
    cell: str
    availability_zone: str
    aggregates: tuple[str, ...]
    is_up: bool
    usage: dict[str, InventoryUsage]

    @property
    def compute_node_uuid(self) -> UUID:
        """Also the uuid of the resource provider."""
        return self.node.id

    @property
    def state(self) -> str:
        """`up` or `down`."""
        return gettext_noop("up") if self.is_up else gettext_noop("down")

    @property
    def status(self) -> str:
        """`enabled` or `disabled`."""
        return gettext_noop("disabled") if self.node.service.disabled else gettext_noop("enabled")

    @property
    def disabled_reason(self) -> str:
        """Why an operator disabled it."""
        return self.node.service.disabled_reason

    @property
    def clock_is_off(self) -> bool:
        """By more than CLOCK_SKEW_WARNING_S for certain."""
        limit_s = scheduling_options().clock_skew_warning_s
        return clock_is_off(self.node.clock_skew_s, self.node.clock_error_s, limit_s=limit_s)

    @property
    def has_fresh_metrics(self) -> bool:
        """Whether what it measured is young enough to be believed."""
        return bool(getattr(self.node, "has_fresh_metrics", False))

    @property
    def last_seen_up(self) -> datetime | None:
        """The last heartbeat, by the database's clock."""
        return self.node.service.last_seen_up


def host_nodes() -> QuerySet[ComputeNode]:
    """Compute nodes with service and `is_up`, to be filtered and paged before `host_overviews`."""
    return nodes_with_is_up(ComputeNode.objects.all()).order_by("host", "hypervisor_hostname")


def zone_order() -> Coalesce:
    """The zone of a compute node's host, to sort by: the default one for hosts in no aggregate with a zone."""
    zoned = AggregateHost.objects.filter(
        host=OuterRef("host"), **{f"aggregate__metadata__{ZONE_KEY}__isnull": False}
    ).order_by("aggregate__name")
    named = Subquery(zoned.values(zone=KeyTextTransform(ZONE_KEY, "aggregate__metadata"))[:1], output_field=CharField())
    return Coalesce(named, Value(scheduling_options().default_zone))


def host_nodes_listed() -> QuerySet[ComputeNode]:
    """As `host_nodes`, for lists: hv-2 stands before hv-10."""
    return host_nodes().order_by(*natural_order("host"), "hypervisor_hostname")


def host_overviews(nodes: Iterable[ComputeNode]) -> list[HostOverview]:
    """Overviews of these nodes (from `host_nodes`), in a number of queries that does not grow with them."""
    shown = list(nodes)
    hosts = [node.host for node in shown]
    usage = fleet_usage([node.id for node in shown])
    cells = {row.host: row for row in HostMapping.objects.filter(host__in=hosts).select_related("cell")}
    aggregates = _aggregates_of(hosts)
    return [
        HostOverview(
            host=node.host,
            node=node,
            cell_uuid=cells[node.host].cell_id if node.host in cells else None,
            cell=cells[node.host].cell.name if node.host in cells else "",
            availability_zone=_zone_of(aggregates.get(node.host, [])),
            aggregates=tuple(aggregate.name for aggregate in aggregates.get(node.host, [])),
            is_up=bool(getattr(node, "is_up", False)),
            usage=dict(usage.get(node.id, {})),
        )
        for node in shown
    ]


def host_list() -> list[HostOverview]:
    """Every host. For small pages; large fleets page over `host_nodes`."""
    return host_overviews(host_nodes_listed())


def host_get(*, host: str) -> HostOverview:
    """One host by its service host name. Raises NotFound."""
    # PostgreSQL refuses a NUL in text; no host has one in its name.
    found = host_overviews(host_nodes().filter(host=host)[:1]) if "\0" not in host else []
    if not found:
        raise NotFound(_("There is no host {host}.", host=host), field="host")
    return found[0]


def host_exists(*, host: str) -> bool:
    """Whether a compute node of this host is registered."""
    return ComputeNode.objects.filter(host=host).exists()


def node_exists(*, node: str, host: str = "") -> bool:
    """Whether a compute node of this hypervisor hostname is registered, on this host where one is named."""
    nodes = ComputeNode.objects.filter(hypervisor_hostname=node)
    return (nodes.filter(host=host) if host else nodes).exists()


def nodes_of_hosts(hosts: Iterable[str]) -> list[tuple[str, str]]:
    """Each of these hosts with each of its nodes, by names. What is not registered has none."""
    rows = ComputeNode.objects.filter(host__in=list(hosts)).order_by("host", "hypervisor_hostname")
    return list(rows.values_list("host", "hypervisor_hostname"))


def host_takes_new_instances(*, host: str) -> bool:
    """Whether it is up and enabled now."""
    return ComputeNode.objects.filter(up_condition("service__"), host=host, service__disabled=False).exists()


def hosts_schedulable_count() -> int:
    """How many are up and enabled now."""
    return ComputeNode.objects.filter(up_condition("service__"), service__disabled=False).count()


def _aggregates_of(hosts: Sequence[str]) -> dict[str, list[Aggregate]]:
    found: dict[str, list[Aggregate]] = {}
    members = AggregateHost.objects.filter(host__in=hosts).select_related("aggregate").order_by("aggregate__name")
    for member in members:
        found.setdefault(member.host, []).append(member.aggregate)
    return found


def _zone_of(aggregates: Iterable[Aggregate]) -> str:
    zones = [aggregate.availability_zone for aggregate in aggregates if aggregate.availability_zone]
    return zones[0] if zones else scheduling_options().default_zone
