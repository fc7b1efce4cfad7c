"""DiskWeigher: spreads by free disk (packs at a negative multiplier)."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class DiskWeigher(Weigher):
    """Raw value free_disk_mb, the smaller of what is free and disk_available_least; the scale starts at 0."""

    minval = 0.0
    multiplier_key = "disk_weight_multiplier"
    judges_hosts_alone = True

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Free disk in MiB."""
        return hosts.of(hosts.table.free_disk_mb).astype(np.float64)
