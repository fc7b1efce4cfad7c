"""RetryFilter: not again where it failed. Source: Nova until 21; alternates and ignored hosts do it now."""

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class RetryFilter(Filter):
    """The pair of host and node is not among those that the request says were tried."""

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that were tried."""
        tried, table = frozenset(spec.retry), hosts.table
        rows = table.rows_of_hosts(host for host, _ in tried).tolist()
        again = [row for row in rows if (table.hosts[row], table.nodes[row]) in tried]
        return hosts.refuse(hosts.mask(np.array(again, dtype=np.int64)), RefusalReason.TRIED_BEFORE)
