"""The present fleet as values, for trials in which nothing is written or claimed."""

from dataclasses import replace

from placement.candidates.columns import FleetView
from scheduling.fleet.cache.fleet_cache import Fleet, fleet_cache
from scheduling.fleet.cache.host_details import PresentDetails
from scheduling.fleet.facts import FleetFacts
from scheduling.fleet.selectors.candidates import placement_view
from scheduling.whatif.domain.world import World, world_of


def fleet_world(*, facts: FleetFacts) -> World:
    """Hosts, aggregates and providers as they are now, by the same read as a real run's."""
    views: list[FleetView] = []

    def ask(_: Fleet) -> FleetView:
        views.append(placement_view())
        return views[0]

    read = fleet_cache().read(facts=facts, ask=ask)
    providers = {one.uuid: one for one in views[0].facts if one is not None}
    return replace(world_of(read.rows, read.table.aggregates, providers), details=PresentDetails())
