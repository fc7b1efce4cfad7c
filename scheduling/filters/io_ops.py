"""Not too many heavy operations at once on one host."""

from typing import ClassVar

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.neighbours import MAX_IO_OPS
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.aggregate_numbers import overridden, refuse_at_limit
from scheduling.filters.base import Filter

LIMIT_KEY = MAX_IO_OPS


class IoOpsFilter(Filter):
    """num_io_ops < max_io_ops_per_host (8): builds, resizes, snapshots, rescues and the like under way."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts at or above the limit."""
        maximum, under_way = spec.options.max_io_ops_per_host, hosts.of(hosts.table.num_io_ops)
        hosts.lower_limit(LIMIT_KEY, np.full(len(hosts), maximum))
        return hosts.refuse(under_way >= maximum, RefusalReason.IO_OPS, wanted=maximum, available=under_way)


class AggregateIoOpsFilter(Filter):
    """The same; the least `max_io_ops_per_host` (a whole number) of the host's aggregates is the limit, if any."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts at or above their own limit."""
        maximum = overridden(hosts, spec, LIMIT_KEY, spec.options.max_io_ops_per_host, int)
        hosts.lower_limit(LIMIT_KEY, maximum)
        return refuse_at_limit(hosts, hosts.of(hosts.table.num_io_ops), maximum, RefusalReason.IO_OPS)
