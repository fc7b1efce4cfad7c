"""The list of hosts. For admins."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from placement.selectors import amount_of
from scheduling.filtersets import HostFilterSet
from scheduling.fleet.selectors.aggregates import aggregates_named
from scheduling.fleet.selectors.hosts import HostOverview, host_nodes, host_overviews, zone_order
from scheduling.fleet.selectors.zones import zones_named
from servers.agent_api.credentials import agent_refusals


@dataclass(frozen=True, slots=True)
class HostListRow:
    """A host, and why its agent is locked out; empty where it is not."""

    host: HostOverview
    refusal: str

    @property
    def id(self) -> uuid.UUID:
        """Of its compute node."""
        return self.host.node.id

    @property
    def name(self) -> str:
        """As boxes are named."""
        return self.host.host

    def used(self, resource_class: str) -> int | None:
        """Of a resource class; None where Placement knows none."""
        found = self.host.usage.get(resource_class)
        return None if found is None else found.used

    def capacity(self, resource_class: str) -> int | None:
        """The same, of what may be promised."""
        found = self.host.usage.get(resource_class)
        return None if found is None else found.capacity


def _prepared(_caller: Caller, nodes: Sequence[Any], _asked: Asked) -> list[HostListRow]:
    hosts = host_overviews(nodes)
    refusals = agent_refusals([each.host for each in hosts])
    return [HostListRow(host, refusals.get(host.host, "")) for host in hosts]


def _used(key: str, title: str, resource_class: str, *, hides_small: bool = False) -> Column:
    return Column(
        key,
        title,
        lambda row: row.used(resource_class),
        (amount_of("used", resource_class, "id"),),
        is_number=True,
        hides_small=hides_small,
    )


def _capacity(key: str, title: str, resource_class: str) -> Column:
    return Column(
        key,
        title,
        lambda row: row.capacity(resource_class),
        (amount_of("capacity", resource_class, "id"),),
        is_default=False,
        is_number=True,
    )


COLUMNS = (
    Column(
        "host", gettext_noop("Host"), lambda row: row.host.host, natural_order("host"), is_fixed=True, css="name short"
    ),
    Column("state", gettext_noop("State"), lambda row: row.host.state, ("is_up", "service__disabled")),
    Column("status", gettext_noop("Enabled"), lambda row: row.host.status, ("service__disabled",), is_default=False),
    Column(
        "reason",
        gettext_noop("Disabled for"),
        lambda row: row.host.disabled_reason,
        ("service__disabled_reason",),
        is_default=False,
    ),
    Column("zone", gettext_noop("Zone"), lambda row: row.host.availability_zone, (zone_order(),), hides_small=True),
    Column("aggregates", gettext_noop("Aggregates"), lambda row: row.host.aggregates, is_default=False),
    Column(
        "node",
        gettext_noop("Hypervisor name"),
        lambda row: row.host.node.hypervisor_hostname,
        ("hypervisor_hostname",),
        is_default=False,
    ),
    Column(
        "hypervisor",
        gettext_noop("Hypervisor"),
        lambda row: row.host.node.hypervisor_type,
        ("hypervisor_type", "virt_type"),
        hides_small=True,
    ),
    Column(
        "instances",
        gettext_noop("Guests"),
        lambda row: row.host.node.running_guests,
        ("running_guests",),
        is_number=True,
        hides_small=True,
    ),
    _used("vcpus", gettext_noop("vCPUs"), "VCPU"),
    _used("memory", gettext_noop("Memory"), "MEMORY_MB"),
    _used("disk", gettext_noop("Disk"), "DISK_GB", hides_small=True),
    _capacity("vcpu_capacity", gettext_noop("vCPUs allocatable"), "VCPU"),
    _capacity("memory_capacity", gettext_noop("Memory allocatable"), "MEMORY_MB"),
    _capacity("disk_capacity", gettext_noop("Disk allocatable"), "DISK_GB"),
    Column(
        "failed_builds",
        gettext_noop("Failed builds"),
        lambda row: row.host.node.failed_builds,
        ("failed_builds",),
        is_default=False,
        is_number=True,
    ),
    Column(
        "version", gettext_noop("Agent"), lambda row: row.host.node.agent_version, ("agent_version",), is_default=False
    ),
    Column("os", gettext_noop("System"), lambda row: row.host.node.os_name, ("os_name",), is_default=False),
    Column(
        "address",
        gettext_noop("Address"),
        lambda row: row.host.node.host_ip,
        ("host_ip",),
        is_default=False,
        css="mono",
    ),
    Column("cell", gettext_noop("Cell"), lambda row: row.host.cell, is_default=False),
    Column(
        "last_seen",
        gettext_noop("Last seen"),
        lambda row: row.host.last_seen_up,
        ("service__last_seen_up",),
        css="nowrap",
        hides_small=True,
    ),
    Column("id", gettext_noop("ID"), lambda row: row.host.node.id, ("pk",), is_default=False, css="mono"),
)


def _zones(_caller: Caller) -> list[tuple[str, str]]:
    return [(name, name) for name in zones_named()]


def _aggregates(_caller: Caller) -> list[tuple[str, str]]:
    return [(name, name) for _, name in aggregates_named()]


HOSTS = ListDeclaration(
    name="hosts",
    thing="host",
    section="hosts",
    cells="dashboard/hosts/host_cells.html",
    columns=COLUMNS,
    rows=lambda _caller, _asked: host_nodes().defer("cpu_info", "stats", "numa_topology", "pci_pools", "traits"),
    prepare=_prepared,
    filterset=lambda _caller: HostFilterSet,
    filters=(
        ListFilter("up", gettext_noop("Up"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("disabled", gettext_noop("Disabled"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("zone", gettext_noop("Zone"), is_first=True, choices=_zones),
        ListFilter("aggregate", gettext_noop("Aggregate"), choices=_aggregates),
        ListFilter("forced_down", gettext_noop("Forced down")),
        ListFilter("behind", gettext_noop("Agent behind the newest")),
        ListFilter("clock_off", gettext_noop("Clock off")),
        ListFilter("hypervisor_type", gettext_noop("Hypervisor"), placeholder=gettext_noop("Exact name")),
        ListFilter("arch", gettext_noop("Architecture"), placeholder="x86_64"),
        ListFilter("agent_version", gettext_noop("Agent version"), placeholder=gettext_noop("Exact version")),
    ),
    sort="host",
    search_hint=gettext_noop("Name, address, aggregate, zone, version …"),
    watch="watch=hosts",
    head="dashboard/hosts/host_list_head.html",
    empty="dashboard/hosts/host_list_empty.html",
)
