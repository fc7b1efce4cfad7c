"""IoOpsFilter: not too many heavy operations at once."""

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts import Hosts, RefusalGroup
from scheduling.domain.request_spec import RequestSpec
from scheduling.filters.base import Filter


class IoOpsFilter(Filter):
    """num_io_ops < max_io_ops_per_host (8): builds, resizes, snapshots, rescues and the like under way."""

    def refusals(self, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
        """Hosts at or above the limit."""
        most, under_way = spec.options.max_io_ops_per_host, hosts.of(hosts.table.num_io_ops)
        return hosts.refuse(under_way >= most, RefusalReason.IO_OPS, wanted=most, available=under_way)
