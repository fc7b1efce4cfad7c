"""This module makes a host table, which is columns, from plain rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduling.domain.columns import (
    IntArray,
    Interned,
    InventoryColumns,
    bool_column,
    float_column,
    frozen,
    int_column,
    intern,
    intern_json,
)
from scheduling.domain.hosts.host_rows import AggregateRow, HostRow, InventoryNumbers, InventoryRow
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.resources import DISK_GB, MEMORY_MB, VCPU

__all__ = ["HostTable", "host_table_from_rows"]

NO_INVENTORY = InventoryRow(total=0)


def row_order(row: HostRow) -> tuple[str, str, str]:
    """The key by which the rows of a table are sorted."""
    return row.host, row.nodename, row.uuid


def host_table_from_rows(rows: Iterable[HostRow], aggregates: Iterable[AggregateRow] = ()) -> HostTable:
    """The fleet as columns. The order of `rows` and `aggregates` makes no difference."""
    ordered = sorted(rows, key=row_order)
    count = len(ordered)
    hosts = tuple(row.host for row in ordered)
    inventories = inventory_columns_of(ordered)
    no_inventory = _inventory_columns([NO_INVENTORY] * count)
    vcpu, ram, disk = (inventories.get(name, no_inventory) for name in (VCPU, MEMORY_MB, DISK_GB))
    return HostTable(
        hosts=hosts,
        nodes=tuple(row.nodename for row in ordered),
        uuids=tuple(row.uuid for row in ordered),
        cells=intern([row.cell_uuid for row in ordered]),
        **aggregate_columns(hosts, aggregates),
        enabled=bool_column((row.enabled for row in ordered), count),
        up=bool_column((row.up for row in ordered), count),
        status_detail=intern([row.status_detail for row in ordered]),
        free_ram_mb=frozen(ram.total - ram.reserved - ram.used),
        free_disk_mb=_free_disk_mb(ordered, disk),
        vcpus_used=vcpu.used,
        num_instances=int_column((instance_count(row) for row in ordered), count),
        num_io_ops=int_column((row.num_io_ops for row in ordered), count),
        failed_builds=int_column((row.failed_builds for row in ordered), count),
        hypervisor_type=intern([row.hypervisor_type for row in ordered]),
        hypervisor_version=int_column((row.hypervisor_version for row in ordered), count),
        host_ip=tuple(row.host_ip for row in ordered),
        inventories=inventories,
        no_inventory=no_inventory,
        trait_sets=intern([row.traits for row in ordered]),
        supported_instances=intern([row.supported_instances for row in ordered]),
        cpu_info=intern_json([row.cpu_info for row in ordered]),
        stats=intern_json([row.stats for row in ordered]),
        metrics=intern_json([row.metrics for row in ordered]),
        services=intern_json([row.service for row in ordered]),
        flavor_sets=intern([row.flavor_ids for row in ordered]),
        trust_levels=intern([row.trust_level for row in ordered]),
        image_properties=intern([row.image_properties for row in ordered], key=image_property_key),
        min_service_version=min_service_version(ordered),
        numa_topologies=intern_json([row.numa_topology for row in ordered]),
        pci_pools=intern_json([row.pci_pools for row in ordered]),
        instances=tuple(row.instances for row in ordered),
        rows_by_instance=rows_of_instances(ordered),
        rows_by_host=_index((row.host.lower(), at) for at, row in enumerate(ordered)),
        rows_by_node=_index((row.nodename.lower(), at) for at, row in enumerate(ordered)),
        row_by_uuid={row.uuid: at for at, row in enumerate(ordered)},
        placed={},
    )


def inventory_columns_of(rows: Sequence[HostRow]) -> dict[str, InventoryColumns]:
    """The inventories of these rows by class."""
    names = sorted({name for row in rows for name in row.inventories})
    return {name: _inventory_columns([row.inventories.get(name, NO_INVENTORY) for row in rows]) for name in names}


def _inventory_columns(rows: Sequence[InventoryNumbers]) -> InventoryColumns:
    count = len(rows)
    total = int_column((row.total for row in rows), count)
    reserved = int_column((row.reserved for row in rows), count)
    ratio = float_column((row.allocation_ratio for row in rows), count)
    return InventoryColumns(
        total=total,
        reserved=reserved,
        allocation_ratio=ratio,
        used=int_column((row.used for row in rows), count),
        min_unit=int_column((row.min_unit for row in rows), count),
        max_unit=int_column((row.max_unit for row in rows), count),
        step_size=int_column((row.step_size for row in rows), count),
        capacity=frozen(np.floor((total - reserved) * ratio).astype(np.int64)),
    )


def _free_disk_mb(rows: Sequence[HostRow], disk: InventoryColumns) -> IntArray:
    """The free disk is the smaller of what no allocation takes and what the host says that its disk can still take."""
    free = disk.total - disk.reserved - disk.used
    disk_min = [row.disk_available_least_gib for row in rows]
    bound = np.array([free[at] if each is None else each for at, each in enumerate(disk_min)], dtype=np.int64)
    return frozen(np.minimum(free, bound) * 1024)


def instance_count(row: HostRow) -> int:
    """How many instances the host has: the number of the row, or the instances counted where the row has none."""
    return len(row.instances) if row.num_instances is None else row.num_instances


def aggregate_columns(hosts: Sequence[str], aggregates: Iterable[AggregateRow]) -> dict[str, Any]:
    """The columns of a table that follow from aggregates, by name."""
    sets = tuple(sorted(aggregates, key=lambda each: (each.name, each.uuid)))
    by_host = _index((host, at) for at, aggregate in enumerate(sets) for host in aggregate.hosts)
    members = intern([by_host.get(host, ()) for host in hosts])
    return {"aggregates": sets, "aggregate_sets": members, "zones": _zones(members, sets)}


def rows_of_instances(rows: Sequence[HostRow]) -> Mapping[str, tuple[int, ...]]:
    """The rows on which each instance is, by its uuid."""
    return _index((uuid, at) for at, row in enumerate(rows) for uuid in row.instances)


def _zones(members: Interned[tuple[int, ...]], aggregates: Sequence[AggregateRow]) -> Interned[str | None]:
    """The zone of each host is that of its first aggregate with a zone.

    Invariant, kept by the services that write aggregates: a host is in one zone only.
    """
    return Interned(tuple(_zone([aggregates[at] for at in one]) for one in members.values), members.codes)


def _zone(aggregates: Iterable[AggregateRow]) -> str | None:
    return next((each.availability_zone for each in aggregates if each.availability_zone), None)


def image_property_key(properties: Mapping[tuple[str, str], int]) -> frozenset[tuple[tuple[str, str], int]]:
    """Two counts of image properties with the same key are the same."""
    return frozenset(properties.items()) if properties else frozenset()


def min_service_version(rows: Sequence[HostRow]) -> int:
    """The oldest version among the services; one that is forced down does not hold the others back."""
    versions = (row.service.get("version") or 0 for row in rows if not row.service.get("forced_down"))
    return min(versions, default=0)


def _index(pairs: Iterable[tuple[str, int]]) -> Mapping[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for name, at in pairs:
        found[name] = (*found.get(name, ()), at)
    return found
