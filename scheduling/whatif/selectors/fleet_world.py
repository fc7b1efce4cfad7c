"""The present fleet as values, for trials in which nothing is written or claimed."""

from dataclasses import replace

from scheduling.fleet.cache.fleet_cache import fleet_cache
from scheduling.fleet.cache.host_details import PresentDetails
from scheduling.fleet.facts import FleetFacts
from scheduling.fleet.selectors.candidates import placement_view
from scheduling.whatif.domain.world import World, world_of


def fleet_world(*, facts: FleetFacts) -> World:
    """Hosts, aggregates and providers as they are now, by the same look as a real run's."""
    cache = fleet_cache()
    with cache.refreshed(cache.poll_changes()):
        view = placement_view()
        read = cache.table(view, facts)
    providers = {one.uuid: one for one in view.facts if one is not None}
    return replace(world_of(read.rows, read.table.aggregates, providers), details=PresentDetails())
