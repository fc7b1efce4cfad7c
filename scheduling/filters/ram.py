"""Memory by flavor and overcommit, as before Placement counted. Source: Nova until 19; by aggregate until
21.
"""

from typing import ClassVar

from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter
from scheduling.filters.overcommit import aggregate_ratio, memory_room, refuse_short

RATIO_KEY = "ram_allocation_ratio"


class RamFilter(Filter):
    """total * ratio - used >= wanted, and total >= wanted: an instance may not overcommit against itself."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that are too small, then those that are too full."""
        return refuse_short(hosts, memory_room(hosts.table, spec, hosts.table.inventory("MEMORY_MB").allocation_ratio))


class AggregateRamFilter(Filter):
    """The same; the least `ram_allocation_ratio` of the host's aggregates is the ratio, if any."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that are too small, then those that are too full."""
        own = hosts.table.inventory("MEMORY_MB").allocation_ratio
        return refuse_short(hosts, memory_room(hosts.table, spec, aggregate_ratio(hosts, spec, RATIO_KEY, own)))
