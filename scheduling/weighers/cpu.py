"""CPUWeigher: spreads by free vCPUs (packs at a negative multiplier)."""

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class CPUWeigher(Weigher):
    """Raw value vcpus_total * cpu_allocation_ratio - vcpus_used; the scale starts at 0."""

    minval = 0.0
    multiplier_key = "cpu_weight_multiplier"
    judges_hosts_alone = True

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Free vCPUs after overcommit."""
        vcpu = hosts.table.inventory("VCPU")
        return hosts.of(vcpu.total) * hosts.of(vcpu.allocation_ratio) - hosts.of(hosts.table.vcpus_used)
