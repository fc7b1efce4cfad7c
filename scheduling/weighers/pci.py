"""PCIWeigher: keeps hosts rich in free PCI devices for those who need them."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher

MANY = 100
"""From this count on hosts are alike: there is no scarcity to guard."""


class PCIWeigher(Weigher):
    """Raw value 100 - min(free PCI devices, 99), whether or not the request wants any.

    So requests without PCI go where there is none, and those with PCI use up the hosts that have least left.
    """

    multiplier_key = "pci_weight_multiplier"
    min_multiplier = 0.0

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...]:
        """Pools, which change only where devices are taken."""
        return (table.pci_pools,)

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """The more free devices, the less."""
        pools = hosts.table.pci_pools
        free = np.array([sum(pool["count"] for pool in one) for one in pools.values], dtype=np.int64)
        return MANY - np.minimum(free, MANY - 1)[hosts.of(pools.codes)].astype(np.float64)
