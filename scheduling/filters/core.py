"""vCPUs by flavor and overcommit, as before Placement counted. Source: Nova until 19; by aggregate until
21.
"""

from typing import ClassVar

from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter
from scheduling.filters.overcommit import aggregate_ratio, refuse_short, vcpu_room

RATIO_KEY = "cpu_allocation_ratio"


class CoreFilter(Filter):
    """total * ratio - used >= wanted, and total >= wanted; a host that reports no vCPUs passes."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that are too small, then those that are too full."""
        vcpu = hosts.table.inventory("VCPU")
        return refuse_short(hosts.where(hosts.of(vcpu.total) > 0), vcpu_room(hosts.table, spec, vcpu.allocation_ratio))


class AggregateCoreFilter(Filter):
    """The same; the least `cpu_allocation_ratio` of the host's aggregates is the ratio, if any."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that are too small, then those that are too full."""
        vcpu = hosts.table.inventory("VCPU")
        ratio = aggregate_ratio(hosts, spec, RATIO_KEY, vcpu.allocation_ratio)
        return refuse_short(hosts.where(hosts.of(vcpu.total) > 0), vcpu_room(hosts.table, spec, ratio))
