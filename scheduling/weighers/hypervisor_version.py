"""HypervisorVersionWeigher: prefers newer hypervisors."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class HypervisorVersionWeigher(Weigher):
    """Raw value hypervisor_version, 0 if unset; any difference spans the whole scale."""

    multiplier_key = "hypervisor_version_weight_multiplier"

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...]:
        """Versions, which placing changes nothing about."""
        return (table.hypervisor_version,)

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """The version as Nova's integer."""
        return hosts.of(hosts.table.hypervisor_version).astype(np.float64)
