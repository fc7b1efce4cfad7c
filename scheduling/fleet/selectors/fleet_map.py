"""The fleet as a map, out of rows: five queries at most, whatever the number of hosts."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from django.db.models import Case, FloatField, QuerySet, Value, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from controlplane.infra.natural_order import natural_order
from placement.selectors import usage_of_class
from scheduling.conf import scheduling_options
from scheduling.fleet.domain.fleet_map import RESOURCE_CLASSES, Heat, MapHost
from scheduling.models import AggregateHost, ComputeNode
from scheduling.models.aggregate import ZONE_KEY
from scheduling.models.clock import fresh_metrics_condition

CPU_PERCENT = "cpu.percent"
_COLUMNS: tuple[str, ...] = (
    "id", "host", "hypervisor_hostname", "memory_mib", "running_guests", "is_up",
    "service__disabled", "service__forced_down",
)  # fmt: skip


def map_hosts(nodes: QuerySet[ComputeNode], heat: Heat) -> list[MapHost]:
    """These nodes (from `host_nodes`, filtered) in natural order, with the measure that `heat` names. `FITS` is counted
    elsewhere, and leaves the measure out.
    """
    rows = nodes.order_by(*natural_order("host"), "hypervisor_hostname")
    columns = _COLUMNS
    if heat is Heat.CPU:
        rows = rows.annotate(measured=Case(When(fresh_metrics_condition(), then=_cpu_percent()), default=Value(None)))
        columns = (*_COLUMNS, "measured")
    usage = usage_of_class(RESOURCE_CLASSES[heat]) if heat in RESOURCE_CLASSES else {}
    zones, aggregates = _memberships()
    default = scheduling_options().default_zone
    return [
        _map_host(row, zones.get(row[1], default), tuple(aggregates.get(row[1], ())), usage)
        for row in rows.values_list(*columns)
    ]


def _map_host(
    row: tuple[Any, ...], zone: str, aggregates: tuple[str, ...], usage: dict[UUID, tuple[int, int]]
) -> MapHost:
    pk, host, node, memory_mib, guests, is_up, is_disabled, is_forced_down, *measured = row
    used, capacity = usage.get(pk, (None, None))
    return MapHost(
        host=host,
        node=node,
        zone=zone,
        aggregates=aggregates,
        memory_mib=memory_mib,
        running_guests=guests,
        is_up=is_up,
        is_disabled=is_disabled,
        is_forced_down=is_forced_down,
        used=used,
        capacity=capacity,
        cpu_percent=measured[0] if measured and is_up else None,
    )


def _cpu_percent() -> Cast:
    return Cast(KeyTransform(CPU_PERCENT, "metrics"), FloatField())


def _memberships() -> tuple[dict[str, str], dict[str, list[str]]]:
    """{host: zone} and {host: aggregates by name}. One query."""
    zones: dict[str, str] = {}
    aggregates: defaultdict[str, list[str]] = defaultdict(list)
    named = KeyTextTransform(ZONE_KEY, "aggregate__metadata")
    rows = AggregateHost.objects.order_by("aggregate__name").annotate(zone=named)
    for host, name, zone in rows.values_list("host", "aggregate__name", "zone"):
        aggregates[host].append(name)
        if zone:
            zones.setdefault(host, zone)
    return zones, aggregates
