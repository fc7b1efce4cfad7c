"""RAMWeigher: spreads by free memory (packs at a negative multiplier)."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class RAMWeigher(Weigher):
    """Raw value free_ram_mb; the scale starts at 0."""

    minval = 0.0
    multiplier_key = "ram_weight_multiplier"
    judges_hosts_alone = True

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Free memory in MiB."""
        return hosts.of(hosts.table.free_ram_mb).astype(np.float64)
