"""The present fleet as values, for trials in which nothing is written or claimed."""

from placement.candidates import FleetColumns
from placement.selectors import fleet_snapshot
from scheduling.engine.what_if import World, world_of
from scheduling.selectors.facts import FleetFacts
from scheduling.selectors.fleet import aggregate_rows, compute_nodes, host_rows


def fleet_world(*, facts: FleetFacts) -> World:
    """Hosts, aggregates and providers as they are now. The number of queries does not grow with the fleet.

    Nodes are read before Placement's snapshot, in the order in which a real run reads them.
    """
    nodes = compute_nodes()
    fleet = fleet_snapshot().read(FleetColumns.view)
    rows = host_rows(nodes=nodes, fleet=fleet, facts=facts)
    return world_of(rows, aggregate_rows(), {one.uuid: one for one in fleet.facts if one is not None})
