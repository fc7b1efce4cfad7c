"""Hosts of which the instance takes all that is free: what bare metal needed until Nova 17."""

from typing import ClassVar

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.columns import IntArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter
from scheduling.filters.overcommit import wanted_disk_mb


class ExactRamFilter(Filter):
    """Memory wanted equals memory free, without overcommit."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts with more or less free."""
        refused = _refuse_unequal(hosts, hosts.table.free_ram_mb, spec.memory_mb, "MB of memory")
        hosts.without(refused).set_limit("memory_mb", hosts.table.inventory("MEMORY_MB").total)
        return refused


class ExactCoreFilter(Filter):
    """vCPUs wanted equal vCPUs free, without overcommit; a host that reports none is refused."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts with more or less free."""
        total = hosts.table.inventory("VCPU").total
        silent = hosts.refuse(
            hosts.of(total) == 0, RefusalReason.NOT_EXACT, wanted=spec.vcpus, available=0, detail="vcpu"
        )
        free = total - hosts.table.vcpus_used
        refused = silent + _refuse_unequal(hosts.without(silent), free, spec.vcpus, "vcpu")
        hosts.without(refused).set_limit("vcpu", total)
        return refused


class ExactDiskFilter(Filter):
    """Root, ephemeral and swap together equal the disk that is free."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts with more or less free."""
        refused = _refuse_unequal(hosts, hosts.table.free_disk_mb, wanted_disk_mb(spec), "MB of disk")
        hosts.without(refused).set_limit("disk_gb", hosts.table.inventory("DISK_GB").total)
        return refused


def _refuse_unequal(hosts: Hosts, column: IntArray, wanted: int, detail: str) -> list[RefusalGroup]:
    free = hosts.of(column)
    return hosts.refuse(free != wanted, RefusalReason.NOT_EXACT, wanted=wanted, available=free, detail=detail)
