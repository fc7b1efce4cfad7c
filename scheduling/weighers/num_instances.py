"""NumInstancesWeigher: packs by count of instances (spreads at a negative multiplier)."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class NumInstancesWeigher(Weigher):
    """Raw value num_instances, scaled between the extremes seen. No effect unless a policy gives it a multiplier."""

    multiplier_key = "num_instances_weight_multiplier"
    default_multiplier = 0.0
    judges_hosts_alone = True

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Instances on the host."""
        return hosts.of(hosts.table.num_instances).astype(np.float64)
