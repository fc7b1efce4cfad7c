"""Placement's look at the fleet for one request: who is there with what left, and who can serve it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from placement.candidates import FleetColumns
from placement.candidates.columns import FleetView
from placement.selectors import fleet_snapshot
from scheduling.domain.host_rows import AggregateRow
from scheduling.domain.policy import Policy
from scheduling.domain.request import ScheduleRequest
from scheduling.engine import CandidateSet
from scheduling.engine.candidate_set import NodeName, request_candidates
from scheduling.engine.request_filters import Surroundings, filter_request
from scheduling.models import ComputeNode


@dataclass(frozen=True, slots=True)
class PlacementLook:
    """All providers at one moment and, unless the request needs no room (a rebuild), the candidates of then."""

    fleet: FleetView
    candidates: CandidateSet | None


def surroundings(*, nodes: Iterable[ComputeNode], aggregates: Sequence[AggregateRow], policy: Policy) -> Surroundings:
    """What request filters go by, before there is a host table."""
    versions = (node.service.version for node in nodes if not node.service.forced_down)
    return Surroundings(aggregates, policy.options, min(versions, default=0))


def placement_look(
    *, request: ScheduleRequest, nodes: Sequence[ComputeNode], around: Surroundings | None = None
) -> PlacementLook:
    """Ask this process's snapshot of Placement, once, so that usage and candidates fit together.

    Request filters are applied first where `around` is given; without, the answer holds for any policy, as the engine
    applies them again to each host. Raises Invalid for a flavor that contradicts itself.
    """
    if request.is_rebuild:
        return PlacementLook(fleet_snapshot().read(FleetColumns.view), None)
    if around is not None:
        request = filter_request(request, around).request
    named = [NodeName(node.host, node.hypervisor_hostname, node.id) for node in nodes]
    found = fleet_snapshot().read(lambda columns: request_candidates(columns, request, named))
    return PlacementLook(found.fleet, found)
