"""NUMATopologyFilter: cells, pinned CPUs, pages, and devices and networks near them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from computeagent.protocol.topology import GuestTopology
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import Interned
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.hosts.topologies import pools_of_table, topology_of
from scheduling.domain.hosts.topology_needs import CPU_LIMIT, RAM_LIMIT
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.resources import MEMORY_MB, VCPU
from scheduling.filters.base import Filter
from scheduling.filters.joint_columns import beside, constant, interned_floats, joint
from scheduling.topology.domain.numa.cell_fit import Limits
from scheduling.topology.domain.numa.fit import FitNeeds, fit

Seen = tuple[Mapping[str, Any] | None, Sequence[Mapping[str, Any]], float, float]


class NUMATopologyFilter(Filter):
    """The guest's cells must fit on the host's. A request without any passes at once; a host that reports no
    topology is refused. The overcommit of those that pass goes along as limits. The fit runs once for each
    combination of topology, usage, overcommit and, where devices are wanted, pools.
    """

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts on which the guest does not fit, each with what is short in the cell that came closest."""
        guest = spec.numa_topology
        if guest is None:
            return []
        table = hosts.table
        cpu, ram = table.inventory(VCPU).allocation_ratio, table.inventory(MEMORY_MB).allocation_ratio
        # Without devices to be near, pools make no difference between hosts.
        pools = beside(hosts, table.pci_pools) if spec.pci_requests else constant((), len(hosts))
        ratios = [interned_floats(hosts.of(each)) for each in (cpu, ram)]
        columns: list[Interned[Any]] = [beside(hosts, table.numa_topologies), pools, *ratios]
        groups = hosts.refuse_by(joint(columns), partial(_judge, guest, spec))
        hosts.set_limit(CPU_LIMIT, cpu)
        hosts.set_limit(RAM_LIMIT, ram)
        return groups


def _judge(guest: GuestTopology, spec: RequestSpecView, seen: Seen) -> Refusal | None:
    topology, pools, cpu_ratio, ram_ratio = seen
    host = topology_of(topology)
    if host is None:
        return Refusal(RefusalReason.NUMA_TOPOLOGY_MISSING, wanted=len(guest))
    pack = spec.options.packing_host_numa_cells_allocation_strategy
    needs = FitNeeds(
        Limits(cpu_ratio, ram_ratio), spec.pci_requests, pools_of_table(pools), spec.request.networks, pack
    )
    found = fit(host, guest, needs)
    return found if isinstance(found, Refusal) else None
