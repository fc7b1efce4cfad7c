"""Room times overcommit: the rule that the filters for memory, CPUs and disk share."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.aggregate_numbers import finite, overridden


@dataclass(frozen=True, slots=True, eq=False)
class ResourceRoom:
    """One resource of all rows of the table, in `unit`. `used` includes what is reserved."""

    wanted: float
    total: FloatArray | IntArray
    used: FloatArray | IntArray
    ratio: FloatArray
    reason: RefusalReason
    unit: str
    limit: str


def refuse_short(hosts: Hosts, room: ResourceRoom) -> list[RefusalGroup]:
    """Hosts without room: first those that never had it, since nobody overcommits against itself alone; then those
    where total * ratio - used is less than wanted. The others' limit, total * ratio, goes with the selection.
    """
    refused = refuse_in_turn(hosts, [partial(_refuse_small, room), partial(_refuse_full, room)])
    hosts.without(refused).set_limit(room.limit, room.total * room.ratio)
    return refused


def aggregate_ratio(hosts: Hosts, spec: RequestSpecView, key: str, ratio: FloatArray) -> FloatArray:
    """A column of ratios, in which hosts whose aggregates give numbers for `key` have the least of them."""
    changed = ratio.copy()
    changed[hosts.rows] = overridden(hosts, spec, key, hosts.of(ratio), finite)
    return changed


def memory_room(table: HostTable, spec: RequestSpecView, ratio: FloatArray) -> ResourceRoom:
    """The flavor's memory and the hosts', in MiB."""
    total = table.inventory("MEMORY_MB").total
    used = total - table.free_ram_mb
    return ResourceRoom(spec.memory_mb, total, used, ratio, RefusalReason.RAM_SHORT, "MB", "memory_mb")


def vcpu_room(table: HostTable, spec: RequestSpecView, ratio: FloatArray) -> ResourceRoom:
    """The flavor's vCPUs and the hosts'."""
    total = table.inventory("VCPU").total
    return ResourceRoom(spec.vcpus, total, table.vcpus_used, ratio, RefusalReason.VCPU_SHORT, "", "vcpu")


def disk_room(table: HostTable, spec: RequestSpecView, ratio: FloatArray) -> ResourceRoom:
    """The flavor's disks, swap included, and the hosts', in GiB."""
    total = table.inventory("DISK_GB").total
    used = total - table.free_disk_mb / 1024
    return ResourceRoom(wanted_disk_mb(spec) / 1024, total, used, ratio, RefusalReason.DISK_SHORT, "GB", "disk_gb")


def wanted_disk_mb(spec: RequestSpecView) -> int:
    """Root, ephemeral and swap in MiB."""
    return 1024 * (spec.root_gb + spec.ephemeral_gb) + spec.swap


def _refuse_small(room: ResourceRoom, hosts: Hosts) -> list[RefusalGroup]:
    total = hosts.of(room.total)
    return hosts.refuse(total < room.wanted, room.reason, wanted=room.wanted, available=total, unit=room.unit)


def _refuse_full(room: ResourceRoom, hosts: Hosts) -> list[RefusalGroup]:
    total, ratio = hosts.of(room.total), hosts.of(room.ratio)
    free = total * ratio - hosts.of(room.used)
    return hosts.refuse(
        free < room.wanted,
        room.reason,
        wanted=room.wanted,
        available=np.maximum(free, 0.0),
        unit=room.unit,
        total=total.astype(np.int64),
        ratio=ratio,
    )
