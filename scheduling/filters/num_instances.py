"""Not too many instances on one host."""

from typing import ClassVar

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.neighbours import MAX_INSTANCES
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.aggregate_numbers import overridden, refuse_at_limit
from scheduling.filters.base import Filter

LIMIT_KEY = MAX_INSTANCES


class NumInstancesFilter(Filter):
    """num_instances < max_instances_per_host (50)."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts at or above the limit."""
        maximum, held = spec.options.max_instances_per_host, hosts.of(hosts.table.num_instances)
        hosts.lower_limit(LIMIT_KEY, np.full(len(hosts), maximum))
        return hosts.refuse(held >= maximum, RefusalReason.NUM_INSTANCES, wanted=maximum, available=held)


class AggregateNumInstancesFilter(Filter):
    """The same; the least `max_instances_per_host` (a whole number) of the host's aggregates is the limit, if any."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts at or above their own limit."""
        maximum = overridden(hosts, spec, LIMIT_KEY, spec.options.max_instances_per_host, int)
        hosts.lower_limit(LIMIT_KEY, maximum)
        return refuse_at_limit(hosts, hosts.of(hosts.table.num_instances), maximum, RefusalReason.NUM_INSTANCES)
