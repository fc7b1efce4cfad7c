"""BuildFailureWeigher: avoids hosts that failed builds lately, above all else."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class BuildFailureWeigher(Weigher):
    """Raw value failed_builds; its multiplier is negated, so that a positive one avoids."""

    multiplier_key = "build_failure_weight_multiplier"
    default_multiplier = 1000000.0
    direction = -1.0

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...]:
        """Failed builds, which placing changes nothing about."""
        return (table.failed_builds,)

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Builds failed since the last that worked."""
        return hosts.of(hosts.table.failed_builds).astype(np.float64)
