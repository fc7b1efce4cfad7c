"""Request filters that speak of aggregates: those of the project, the zone, the networks, and those to stay out of."""

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.hosts.aggregates import same_project
from scheduling.domain.hosts.host_rows import ZONE_KEY
from scheduling.domain.request.resources import resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.request_filters.base import NOTHING, Addition, Surroundings

TENANT_KEY = "filter_tenant_id"
TRAIT_PREFIX, REQUIRED = "trait:", "required"


def require_tenant_aggregate(request: ScheduleRequest, around: Surroundings) -> Addition:
    """The project's own aggregates, by exact value: unlike the filter, it knows no lists.

    Without any, all hosts count, or none at all if such an aggregate is required.
    """
    options = around.options
    if not options.limit_tenants_to_placement_aggregate:
        return NOTHING
    own = frozenset(
        each.uuid
        for each in around.aggregates
        if any(
            key.startswith(TENANT_KEY) and same_project(request.project_id, value)
            for key, value in each.metadata.items()
        )
    )
    if own or options.placement_aggregate_required_for_tenants:
        return Addition(member_of=(own,))
    return NOTHING


def map_az_to_placement_aggregate(request: ScheduleRequest, around: Surroundings) -> Addition:
    """The aggregates of the zone. In the default one are also all hosts that are in none: not those of other zones.

    Nova adds nothing for a zone that no aggregate makes, and where one makes the default zone, finds its hosts alone.
    """
    zone = request.availability_zone
    if zone == around.options.default_availability_zone:
        others = frozenset(
            each.uuid for each in around.aggregates if each.metadata.get(ZONE_KEY, zone) not in ("", zone)
        )
        return Addition(forbidden_aggregates=others)
    there = frozenset(each.uuid for each in around.aggregates if zone and each.metadata.get(ZONE_KEY) == zone)
    return Addition(member_of=(there,)) if there else NOTHING


def isolate_aggregates(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Out of aggregates that demand a trait which neither flavor nor image requires."""
    if not around.options.enable_isolated_aggregate_filtering:
        return NOTHING
    demanded = {
        each.uuid: frozenset(
            key.removeprefix(TRAIT_PREFIX)
            for key, value in each.metadata.items()
            if key.startswith(TRAIT_PREFIX) and value == REQUIRED
        )
        for each in around.aggregates
    }
    if not any(demanded.values()):
        return NOTHING
    wanted = resource_request(request).required
    return Addition(forbidden_aggregates=frozenset(uuid for uuid, names in demanded.items() if names - wanted))


def routed_networks_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """For each requested network one aggregate of its segments. Raises Invalid for a routed one without any."""
    if not around.options.query_placement_for_routed_network_aggregates:
        return NOTHING
    routed = [each for each in request.requested_networks if each.segment_aggregates is not None]
    for each in routed:
        if not each.segment_aggregates:
            raise Invalid(
                _("no aggregates found for the network {network_id}", network_id=each.network_id), field="networks"
            )
    return Addition(member_of=tuple(frozenset(each.segment_aggregates or ()) for each in routed))
