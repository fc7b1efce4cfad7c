"""A host's report of its cells and devices, stored without its word on who uses them: that follows from the claims."""

from collections.abc import Iterable

from computeagent.protocol.hosts import HostReport
from computeagent.protocol.topology import HostTopology
from scheduling.models import ComputeNode
from scheduling.topology.domain.numa.report import topology_reported
from scheduling.topology.domain.pci.devices import Devices
from scheduling.topology.domain.pci.report import devices_merged, devices_reported
from scheduling.topology.services.rows import node_devices, node_rewrite

HYPERTHREADING, SOCKET_AFFINITY = "HW_CPU_HYPERTHREADING", "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"


def topology_check(report: HostReport) -> tuple[HostTopology | None, Devices]:
    """The cells and devices of a report. Raises Invalid for what cannot be."""
    return topology_reported(report.numa_topology), devices_reported(report.pci_devices)


def topology_store(node: ComputeNode, report: HostReport) -> None:
    """Keep them with the node, which the caller has locked. Cells and devices that are gone while an instance has
    them are noted with its claim, or stay as `removed`. Writes nothing when nothing changed.
    """
    host, reported = topology_check(report)
    node_rewrite(node, host, devices_merged(node_devices(node), reported))


def topology_traits(report: HostReport) -> Iterable[str]:
    """Traits of Nova's that follow from the cells.

    Cores with several threads are HW_CPU_HYPERTHREADING; where every cell names its socket, devices can be kept to
    it. There are none for the cells themselves: they are no providers.
    """
    host = topology_reported(report.numa_topology)
    if host is None:
        return ()
    has_sockets = None not in host.sockets.values()
    found = ((HYPERTHREADING, host.has_threads), (SOCKET_AFFINITY, has_sockets))
    return tuple(name for name, is_so in found if is_so)
