"""Placement's look at the fleet for one request: who is there with what left, and who can serve it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from placement.candidates import FleetColumns
from placement.candidates.columns import FleetView
from placement.selectors import fleet_snapshot
from scheduling.domain.candidate_query import candidate_query
from scheduling.domain.request import ScheduleRequest
from scheduling.domain.resources import resource_request
from scheduling.engine import CandidateSet, candidate_set
from scheduling.models import ComputeNode


@dataclass(frozen=True, slots=True)
class PlacementLook:
    """All providers at one moment and, unless the request needs no room (a rebuild), the candidates of then."""

    fleet: FleetView
    candidates: CandidateSet | None


def placement_look(*, request: ScheduleRequest, nodes: Sequence[ComputeNode]) -> PlacementLook:
    """Ask this process's snapshot of Placement, once, so that usage and candidates fit together.

    Raises Invalid for a flavor that contradicts itself.
    """
    if request.is_rebuild:
        return PlacementLook(fleet_snapshot().read(FleetColumns.view), None)
    target = _only_target(request, nodes)
    query = candidate_query(request, resource_request(request), in_tree=target)
    uuids = {node.id: str(node.id) for node in nodes}
    found = fleet_snapshot().read(lambda columns: candidate_set(columns, query, uuids, target=target))
    return PlacementLook(found.fleet, found)


def _only_target(request: ScheduleRequest, nodes: Sequence[ComputeNode]) -> UUID | None:
    """The one node that a requested destination or forced hosts and nodes leave; None where they leave several."""
    destination = request.requested_destination
    if destination is None and not (request.force_hosts or request.force_nodes):
        return None
    hosts, names = ({name.lower() for name in some} for some in (request.force_hosts, request.force_nodes))
    wanted = [
        node
        for node in nodes
        if (destination is None or destination.allows(node.host, node.hypervisor_hostname))
        and (not hosts or node.host.lower() in hosts)
        and (not names or node.hypervisor_hostname.lower() in names)
    ]
    return wanted[0].id if len(wanted) == 1 else None
