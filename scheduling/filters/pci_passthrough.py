"""PciPassthroughFilter: enough free PCI devices of the kinds asked for."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from controlplane.kernel.reasons import Refusal
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.hosts.topologies import pools_of_table
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.support import refuse_pci


class PciPassthroughFilter(Filter):
    """The host's pools must serve all PCI requests, wherever the devices are. Without requests every host passes."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts with too few devices, with the numbers."""
        if not spec.pci_requests:
            return []
        return hosts.refuse_by(hosts.table.pci_pools, partial(_judge, spec.pci_requests))


def _judge(requests: tuple[PciRequest, ...], pools: Sequence[Mapping[str, Any]]) -> Refusal | None:
    return refuse_pci(pools_of_table(pools), requests)
