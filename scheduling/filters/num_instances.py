"""NumInstancesFilter: not too many instances on one host."""

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts import Hosts, RefusalGroup
from scheduling.domain.request_spec import RequestSpec
from scheduling.filters.base import Filter


class NumInstancesFilter(Filter):
    """num_instances < max_instances_per_host (50)."""

    def refusals(self, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
        """Hosts at or above the limit."""
        most, held = spec.options.max_instances_per_host, hosts.of(hosts.table.num_instances)
        return hosts.refuse(held >= most, RefusalReason.NUM_INSTANCES, wanted=most, available=held)
