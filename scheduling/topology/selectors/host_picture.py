"""A host's NUMA cells and PCI devices with those who have them, out of rows."""

from computeagent.protocol.topology_json import guest_from_dict, host_from_dict
from scheduling.models import ComputeNode, PciDevice, TopologyClaim
from scheduling.topology.domain.host_picture import HostPicture, host_picture
from scheduling.topology.selectors.pci_devices import device_record


def picture_of_node(node: ComputeNode) -> HostPicture:
    """Two queries."""
    claims = TopologyClaim.objects.filter(compute_node=node, numa__isnull=False).order_by("consumer_uuid")
    guests = {str(claim.pk): guest_from_dict(claim.numa) for claim in claims if claim.numa is not None}
    devices = [device_record(row) for row in PciDevice.objects.filter(compute_node=node).order_by("address")]
    return host_picture(host_from_dict(node.numa_topology) if node.numa_topology else None, guests, devices)
