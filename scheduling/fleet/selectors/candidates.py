"""One look at the fleet for one request: who is there with what left, and who can serve it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from placement.candidates import FleetColumns
from placement.candidates.columns import FleetView
from placement.selectors import provider_snapshot
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.engine import CandidateSet, candidate_set
from scheduling.engine.candidate_set import NodeName, only_target
from scheduling.fleet.cache.changes import ChangePoll
from scheduling.fleet.cache.fleet_cache import fleet_cache
from scheduling.fleet.cache.host_details import PresentDetails
from scheduling.fleet.facts import FleetFacts
from scheduling.models import ComputeNode
from scheduling.request_filters import Surroundings, filter_request


@dataclass(frozen=True, slots=True)
class PlacementRead:
    """All providers at one moment and, unless the request needs no room (a rebuild), the candidates of then."""

    fleet: FleetView
    candidates: CandidateSet | None


@dataclass(frozen=True, slots=True)
class RequestRead:
    """What the engine needs for one request: the hosts, and what Placement says of them."""

    table: HostTable
    candidates: CandidateSet | None


def request_read(
    *,
    request: ScheduleRequest,
    policy: Policy,
    facts: FleetFacts,
    poll: ChangePoll,
    max_age_s: float = 0.0,
) -> RequestRead:
    """The fleet as of `poll`, and the candidates of the request as this policy's request filters leave it.

    `max_age_s`: how old the view of nodes, services and aggregates may be, in seconds; room and candidates are always
    those of now. Raises Invalid for a flavor that contradicts itself.
    """
    cache = fleet_cache()
    with cache.refreshed(poll, max_age_s=max_age_s) as fleet:
        around = Surroundings(fleet.aggregates, policy.options, fleet.min_service_version)
        # Placement is asked after the fleet is known: its filters need the aggregates, its candidates the nodes.
        placement = _placement_read(_filtered(request, around), fleet.names, fleet.uuids)
        read = cache.table(placement.fleet, facts)
    return RequestRead(replace(read.table, details=PresentDetails()), placement.candidates)


def placement_read(*, request: ScheduleRequest, nodes: Sequence[ComputeNode]) -> PlacementRead:
    """Ask this process's snapshot of Placement, once, so that usage and candidates fit together.

    The answer holds for any policy, as the engine applies request filters again to each host. Raises Invalid for a
    flavor that contradicts itself.
    """
    named = [NodeName(node.host, node.hypervisor_hostname, node.id) for node in nodes]
    return _placement_read(request, named, {name.uuid: str(name.uuid) for name in named})


def placement_view() -> FleetView:
    """All providers as of now."""
    return provider_snapshot().read(FleetColumns.view)


def _filtered(request: ScheduleRequest, around: Surroundings) -> ScheduleRequest:
    return request if request.is_rebuild else filter_request(request, around).request


def _placement_read(request: ScheduleRequest, names: Collection[NodeName], uuids: Mapping[UUID, str]) -> PlacementRead:
    if request.is_rebuild:
        return PlacementRead(placement_view(), None)
    target = only_target(request, names)
    query = candidate_query(request, resource_request(request), in_tree=target)
    found = provider_snapshot().read(lambda columns: candidate_set(columns, query, uuids, target=target))
    return PlacementRead(found.fleet, found)
