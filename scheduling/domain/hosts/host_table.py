"""The fleet as columns: one row per compute node, in the order of host, node and uuid."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from scheduling.domain.columns import BoolArray, FloatArray, IntArray, Interned, InventoryColumns, plus
from scheduling.domain.hosts.host_details import NO_DETAILS, HostDetails
from scheduling.domain.hosts.host_rows import AggregateRow
from scheduling.domain.snapshots import FlavorSnapshot


@dataclass(frozen=True, slots=True, eq=False)
class HostTable:
    """A snapshot of the fleet. Invariant: it is never changed; `consume` gives a new table that shares what is equal.

    The order of rows does not depend on the order in which they were read, so a decision does not either. `zones` holds
    None for hosts in no aggregate with a zone. `aggregate_sets` holds positions in `aggregates`. `details` gives host
    states what is too much for columns; it is not stored with decisions. `placed` are instances put on hosts in this
    run, on top of `instances`. `min_service_version` is that of the oldest compute service which is not forced down.
    """

    hosts: tuple[str, ...]
    nodes: tuple[str, ...]
    uuids: tuple[str, ...]
    cells: Interned[str]
    zones: Interned[str | None]
    enabled: BoolArray
    up: BoolArray
    status_detail: Interned[str]
    free_ram_mb: IntArray
    free_disk_mb: IntArray
    vcpus_used: IntArray
    num_instances: IntArray
    num_io_ops: IntArray
    failed_builds: IntArray
    hypervisor_type: Interned[str]
    hypervisor_version: IntArray
    host_ip: tuple[str, ...]
    inventories: Mapping[str, InventoryColumns]
    no_inventory: InventoryColumns
    trait_sets: Interned[frozenset[str]]
    aggregates: tuple[AggregateRow, ...]
    aggregate_sets: Interned[tuple[int, ...]]
    supported_instances: Interned[tuple[tuple[str, str, str], ...]]
    cpu_info: Interned[Mapping[str, Any]]
    stats: Interned[Mapping[str, Any]]
    metrics: Interned[Mapping[str, Any]]
    services: Interned[Mapping[str, Any]]
    flavor_sets: Interned[frozenset[str]]
    trust_levels: Interned[str]
    image_properties: Interned[Mapping[tuple[str, str], int]]
    min_service_version: int
    numa_topologies: Interned[Mapping[str, Any] | None]
    pci_pools: Interned[Sequence[Mapping[str, Any]]]
    instances: tuple[frozenset[str], ...]
    rows_by_instance: Mapping[str, tuple[int, ...]]
    rows_by_host: Mapping[str, tuple[int, ...]]
    rows_by_node: Mapping[str, tuple[int, ...]]
    row_by_uuid: Mapping[str, int]
    placed: dict[str, int]
    details: HostDetails = NO_DETAILS

    def __len__(self) -> int:
        return len(self.hosts)

    def inventory(self, resource_class: str) -> InventoryColumns:
        """The columns of one resource class; all zero where no host has it."""
        return self.inventories.get(resource_class, self.no_inventory)

    def vcpu_capacity(self) -> FloatArray:
        """vCPUs of the host times its overcommit, as weighers count them."""
        vcpu = self.inventory("VCPU")
        return vcpu.total * vcpu.allocation_ratio

    def rows_of_instances(self, uuids: Iterable[str]) -> IntArray:
        """Rows that hold any of these instances, ascending."""
        rows: set[int] = set()
        for uuid in uuids:
            rows.update(self.rows_by_instance.get(uuid, ()))
            if uuid in self.placed:
                rows.add(self.placed[uuid])
        return np.array(sorted(rows), dtype=np.int64)

    def counts_of_instances(self, uuids: Iterable[str]) -> IntArray:
        """How many of these instances each row holds."""
        counts = np.zeros(len(self), dtype=np.int64)
        for uuid in uuids:
            for row in self.rows_by_instance.get(uuid, ()):
                counts[row] += 1
            placed = self.placed.get(uuid)
            if placed is not None and uuid not in self.instances[placed]:
                counts[placed] += 1
        return counts

    def instances_on(self, row: int) -> frozenset[str]:
        """Uuids of the instances on one row, those of this run included."""
        return self.instances[row] | {uuid for uuid, placed in self.placed.items() if placed == row}

    def last_placed(self) -> IntArray:
        """The row that the latest instance of this run was put on: all others are as they were before it."""
        return np.array([*islice(reversed(self.placed.values()), 1)], dtype=np.int64)

    def rows_of_hosts(self, names: Iterable[str]) -> IntArray:
        """Rows whose service host has one of these names, whatever the case, ascending."""
        return _rows(self.rows_by_host, names)

    def rows_of_nodes(self, names: Iterable[str]) -> IntArray:
        """Rows whose node has one of these names, whatever the case, ascending."""
        return _rows(self.rows_by_node, names)

    def consume(
        self, row: int, *, flavor: FlavorSnapshot, amounts: Mapping[str, int], instance_uuid: str
    ) -> "HostTable":
        """The table after one instance was put on `row`: Nova's consume_from_request, and Placement's usage.

        Swap is not taken off the free disk that weighers see, as in Nova, but is part of DISK_GB.
        """
        disk_mb = (flavor.root_gib + flavor.ephemeral_gib) * 1024
        used = {name: self.inventories[name].consumed(row, amount) for name, amount in amounts.items()}
        return replace(
            self,
            free_ram_mb=plus(self.free_ram_mb, row, -flavor.memory_mib),
            free_disk_mb=plus(self.free_disk_mb, row, -disk_mb),
            vcpus_used=plus(self.vcpus_used, row, flavor.vcpus),
            num_instances=plus(self.num_instances, row, 1),
            num_io_ops=plus(self.num_io_ops, row, 1),
            inventories={**self.inventories, **used},
            placed={**self.placed, instance_uuid: row},
        )


def _rows(index: Mapping[str, tuple[int, ...]], names: Iterable[str]) -> IntArray:
    rows = {row for name in names for row in index.get(name.lower(), ())}
    return np.array(sorted(rows), dtype=np.int64)
