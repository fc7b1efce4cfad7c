"""One row of the host table with Nova's attribute names, for filters and weighers in the per-host form."""

from datetime import datetime
from functools import cached_property, partial
from typing import Any

from scheduling.domain.hosts.host_details import HostInstance
from scheduling.domain.hosts.host_rows import AggregateRow
from scheduling.domain.hosts.host_stats import row_stats
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.hosts.topologies import pools_of_table, topology_of
from scheduling.domain.request.resources import DISK_GB, MEMORY_MB, VCPU

OWN_ATTRIBUTES = frozenset({"availability_zone", "enabled", "is_up", "traits"})
"""Attributes that Nova's host states do not have."""


class HostState:
    """What Nova calls a host state.

    It is a copy: writing to it changes nothing, save `limits`, which travel with the selection to the host. All
    attributes are in `vars()`, save `instances` and `updated` until they were read.
    """

    def __init__(self, table: HostTable, row: int) -> None:
        self._details, self._known_instances = table.details, partial(table.instances_on, row)
        self._identity(table, row)
        self._amounts(table, row)
        self._description(table, row)
        self.limits: dict[str, Any] = {}
        self.pci_stats = pools_of_table(table.pci_pools[row])
        self.numa_topology = topology_of(table.numa_topologies[row])

    def _identity(self, table: HostTable, row: int) -> None:
        self.host = table.hosts[row]
        self.nodename = self.hypervisor_hostname = table.nodes[row]
        self.uuid = table.uuids[row]
        self.cell_uuid = table.cells[row]
        self.availability_zone = table.zones[row]
        self.host_ip = table.host_ip[row] or None
        self.enabled = bool(table.enabled[row])
        self.is_up = bool(table.up[row])
        self.service: dict[str, Any] = {
            "host": self.host,
            "disabled": not self.enabled,
            **table.services[row],
        }

    def _amounts(self, table: HostTable, row: int) -> None:
        vcpu, ram, disk = (table.inventory(name) for name in (VCPU, MEMORY_MB, DISK_GB))
        self.vcpus_total = int(vcpu.total[row])
        self.vcpus_used = int(table.vcpus_used[row])
        self.cpu_allocation_ratio = float(vcpu.allocation_ratio[row])
        self.total_usable_ram_mb = int(ram.total[row])
        self.free_ram_mb = int(table.free_ram_mb[row])
        self.ram_allocation_ratio = float(ram.allocation_ratio[row])
        self.total_usable_disk_gb = int(disk.total[row])
        self.free_disk_mb = int(table.free_disk_mb[row])
        self.disk_mb_used = int(disk.used[row]) * 1024
        self.disk_allocation_ratio = float(disk.allocation_ratio[row])
        self.num_instances = int(table.num_instances[row])
        self.num_io_ops = int(table.num_io_ops[row])
        self.failed_builds = int(table.failed_builds[row])

    def _description(self, table: HostTable, row: int) -> None:
        self.hypervisor_type = table.hypervisor_type[row]
        self.hypervisor_version = int(table.hypervisor_version[row])
        self.cpu_info = dict(table.cpu_info[row])
        self.supported_instances = [list(triple) for triple in table.supported_instances[row]]
        self.stats = row_stats(table, row)
        self.metrics = dict(table.metrics[row])
        self.traits = table.trait_sets[row]
        self.aggregates: list[AggregateRow] = [table.aggregates[each] for each in table.aggregate_sets[row]]

    @cached_property
    def instances(self) -> dict[str, HostInstance]:
        """All instances on the host by uuid, and those that this batch has put there so far.

        Of the latter, and in a fleet that was stored, only the uuid is known.
        """
        found = dict(self._details.instances_on(self.host))
        for uuid in sorted(self._known_instances()):
            found.setdefault(uuid, HostInstance(uuid, host=self.host, node=self.nodename))
        return found

    @cached_property
    def updated(self) -> datetime | None:
        """When the host last reported; None for one that never did, and in a fleet that was stored."""
        return self._details.updated(self.uuid)

    def __repr__(self) -> str:
        return (
            f"({self.host}, {self.nodename}) ram: {self.free_ram_mb}MB disk: {self.free_disk_mb}MB "
            f"io_ops: {self.num_io_ops} instances: {self.num_instances}"
        )
