"""IoOpsWeigher: avoids hosts that are busy (its default multiplier is negative)."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class IoOpsWeigher(Weigher):
    """Raw value num_io_ops; the scale starts at 0."""

    minval = 0.0
    multiplier_key = "io_ops_weight_multiplier"
    default_multiplier = -1.0
    judges_hosts_alone = True

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Heavy operations under way."""
        return hosts.of(hosts.table.num_io_ops).astype(np.float64)
