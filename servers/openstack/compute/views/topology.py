"""The NUMA topology of a server: where its cells are on its host, for administrators; how they look, for everybody."""

from typing import Any

from django.http import HttpResponse

from computeagent.protocol.topology import InstanceNUMACell
from controlplane.identity.policy import allows
from scheduling.topology.selectors.claims import topology_of_instance
from servers.instances.selectors.instances import instance_get
from servers.openstack.compute.access import ComputeAccess
from servers.openstack.compute.call import ComputeCall, uuid_of


def topology_show(call: ComputeCall, server_id: str) -> HttpResponse:
    """Without cells for a server that asked for none."""
    server = instance_get(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))
    placed = topology_of_instance(server.pk)
    cells = placed.numa.cells if placed is not None and placed.numa is not None else ()
    shows_host = allows(call.caller, ComputeAccess.HYPERVISORS_READ.value)
    sizes = {cell.page_size for cell in cells}
    shown = {
        "nodes": [_node(cell, shows_host=shows_host) for cell in cells],
        "pagesize_kb": sizes.pop() if len(sizes) == 1 else None,
    }
    return call.answer(shown)


def _node(cell: InstanceNUMACell, *, shows_host: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"memory_mb": cell.memory_mib, "vcpu_set": sorted(cell.vcpus), "siblings": []}
    if shows_host:
        shown |= {"host_node": cell.host_cell, "cpu_pinning": {str(vcpu): cpu for vcpu, cpu in cell.pinning}}
    return shown
