"""Attributes of host states, by name, as columns: each distinct value once instead of a host state for each host."""

from collections.abc import Callable
from typing import Any

import numpy as np

from scheduling.domain.columns import IntArray, Interned
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_stats import askable_stats_column
from scheduling.domain.hosts.host_table import HostTable

_REPEATED: dict[str, Callable[[HostTable], Interned[Any]]] = {
    "cpu_info": lambda table: table.cpu_info,
    "stats": askable_stats_column,
    "metrics": lambda table: table.metrics,
    "hypervisor_type": lambda table: table.hypervisor_type,
    "availability_zone": lambda table: table.zones,
    "cell_uuid": lambda table: table.cells,
}
_NUMBERS: dict[str, Callable[[HostTable], IntArray]] = {
    "hypervisor_version": lambda table: table.hypervisor_version,
    "vcpus_total": lambda table: table.inventory("VCPU").total,
    "vcpus_used": lambda table: table.vcpus_used,
    "total_usable_ram_mb": lambda table: table.inventory("MEMORY_MB").total,
    "free_ram_mb": lambda table: table.free_ram_mb,
    "total_usable_disk_gb": lambda table: table.inventory("DISK_GB").total,
    "free_disk_mb": lambda table: table.free_disk_mb,
    "num_instances": lambda table: table.num_instances,
    "num_io_ops": lambda table: table.num_io_ops,
    "failed_builds": lambda table: table.failed_builds,
}
_NAMES: dict[str, Callable[[HostTable], tuple[str | None, ...]]] = {
    "host": lambda table: table.hosts,
    "nodename": lambda table: table.nodes,
    "hypervisor_hostname": lambda table: table.nodes,
    "uuid": lambda table: table.uuids,
    "host_ip": lambda table: tuple(address or None for address in table.host_ip),
}


# Requests name attributes (the hint `query`): nobody may ask so about the instances of others, or have them all read.
_NOT_ASKED = frozenset({"instances", "updated"})


def attribute_column(hosts: Hosts, name: str) -> Interned[Any] | None:
    """The values of one attribute (`free_ram_mb`) at all rows of `hosts`; None if host states have no such attribute,
    or none that a request may ask about.

    There must be at least one host.
    """
    table = hosts.table
    if name in _REPEATED:
        return _REPEATED[name](table)
    if name in _NUMBERS:
        values, codes = np.unique(_NUMBERS[name](table), return_inverse=True)
        return Interned(tuple(values.tolist()), codes.astype(np.int64))
    if name in _NAMES:
        return Interned(_NAMES[name](table), np.arange(len(table), dtype=np.int64))
    if name in _NOT_ASKED or name.startswith("_") or name not in vars(hosts.state(int(hosts.rows[0]))):
        return None
    # Attributes that are not one column are read from host states, which is slow.
    codes = np.zeros(len(table), dtype=np.int64)
    codes[hosts.rows] = np.arange(len(hosts), dtype=np.int64)
    return Interned(tuple(getattr(hosts.state(row), name) for row in hosts.rows.tolist()), codes)
