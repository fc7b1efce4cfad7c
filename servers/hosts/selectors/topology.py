"""A host's NUMA cells and PCI devices, and the instances that have them."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from scheduling.fleet.selectors.hosts import HostOverview
from scheduling.topology.domain.host_picture import HostPicture
from scheduling.topology.selectors.host_picture import picture_of_node
from servers.models import Instance


@dataclass(frozen=True, slots=True)
class HostTopologyShown:
    """The picture, and the names of instances by id; one that is gone has none."""

    picture: HostPicture
    names: Mapping[str, str]


def host_topology(*, host: HostOverview) -> HostTopologyShown:
    """Of its hypervisor. Three queries."""
    picture = picture_of_node(host.node)
    rows = Instance.objects.filter(pk__in=[UUID(owner) for owner in picture.owners]).values_list("pk", "name")
    return HostTopologyShown(picture, {str(pk): name for pk, name in rows})
