"""How many more instances of each flavor fit now, by zone, and what binds. Nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controlplane.kernel.errors import Invalid
from scheduling.decisions.services.record import now_us
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.facts import FleetFacts
from scheduling.policies.selectors.policies import policy_active
from scheduling.topology.selectors.pci_aliases import pci_requests_of
from scheduling.whatif.domain.capacity import FlavorCapacity, capacity
from scheduling.whatif.domain.edits import NO_EDITS, FleetEdits, world_edited
from scheduling.whatif.domain.world import World
from scheduling.whatif.selectors.fleet_world import fleet_world

MAX_FLAVORS = 200


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """One flavor. `problem` says why it could not be counted: it contradicts itself, or asks for nothing."""

    flavor: FlavorSnapshot
    room: FlavorCapacity | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CapacityReport:
    """All flavors that were asked about, under one policy, at one moment."""

    policy_version: str
    host_count: int
    rows: tuple[CapacityRow, ...]
    duration_us: int


def capacity_count(
    *,
    flavors: Sequence[FlavorSnapshot],
    fleet_facts: FleetFacts,
    project_id: str = "",
    policy: Policy | None = None,
    edits: FleetEdits = NO_EDITS,
) -> CapacityReport:
    """Each flavor by itself, as if all room went to it. `project_id`: whose; "" is a project without a host of its own.

    Raises Invalid for more flavors than MAX_FLAVORS, PluginFailed naming the plug-in.
    """
    started = now_us()
    if len(flavors) > MAX_FLAVORS:
        raise Invalid(f"At most {MAX_FLAVORS} flavors can be counted at once.", field="flavor")
    world = world_edited(fleet_world(facts=fleet_facts), edits)
    rules = policy or policy_active()
    rows = tuple(_row(world, flavor, project_id, rules) for flavor in flavors)
    return CapacityReport(rules.version, len(world.rows), rows, now_us() - started)


def _row(world: World, flavor: FlavorSnapshot, project_id: str, policy: Policy) -> CapacityRow:
    request = ScheduleRequest("capacity", project_id, "", ("one",), flavor)
    try:
        request = replace(request, pci_requests=pci_requests_of(flavor, request.image))
        return CapacityRow(flavor, capacity(world, request, policy))
    except Invalid as error:
        return CapacityRow(flavor, None, error.message)
