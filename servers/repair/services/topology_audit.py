"""This module compares cells and devices with instances: who needs some and has none, has them elsewhere, or has no
owner.
"""

import uuid
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.pci.request import ALIAS_KEY
from scheduling.topology.selectors.audit import topology_findings
from scheduling.topology.selectors.claims import topology_nodes, topology_of_instance
from servers.models import Instance


class TopologyFault(NamedTuple):
    """Invariant (1: nothing is given twice; 2: an instance has its own, on its host; 3: all has an owner)."""

    invariant: int
    subject: str
    message: str


def topology_faults(
    instances: Sequence[Instance], owners: set[uuid.UUID], busy: set[uuid.UUID]
) -> Iterator[TopologyFault]:
    """All faults there are now. `owners` are instances and build requests, `busy` the subjects of open work."""
    for finding in topology_findings():
        yield TopologyFault(1, finding.subject, finding.message)
    nodes = topology_nodes()
    for one in instances:
        yield from _of_instance(one, nodes.get(one.pk))
    for owner in sorted(set(nodes) - owners - busy):
        yield TopologyFault(3, str(owner), _("has cells or devices of a host and is no instance and no build request"))


def _of_instance(one: Instance, node: uuid.UUID | None) -> Iterator[TopologyFault]:
    if not one.host:
        return
    if node is not None and node != one.compute_node_uuid:
        yield TopologyFault(2, str(one.pk), f"is on {one.host} and has cells or devices of another node, {node}")
    if node is None and _wants_topology(one) and _still_without(one):
        said = f"is on {one.host}, its flavor asks for NUMA cells or devices, and nobody claimed them for it"
        yield TopologyFault(2, str(one.pk), said)


def _wants_topology(one: Instance) -> bool:
    flavor = FlavorSnapshot(**one.flavor)
    if flavor.extra_specs.get(ALIAS_KEY):
        return True
    image = ImageSnapshot(properties=one.image.get("properties", {}))
    try:
        return guest_topology(flavor, image) is not None
    except Invalid:
        return False


def _still_without(one: Instance) -> bool:
    """Whether the instance is still there and without: it may have been deleted, or moved, since the rows were read."""
    is_there = Instance.objects.filter(pk=one.pk, host=one.host, deleted_at__isnull=True).exists()
    return is_there and topology_of_instance(one.pk) is None
