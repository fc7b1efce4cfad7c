"""How many more instances of each flavor fit now, by zone, and what binds. Nothing is written."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.decisions.services.record import now_us
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.facts import FleetFacts
from scheduling.policies.selectors.policies import policy_active
from scheduling.topology.selectors.pci_aliases import pci_requests_of
from scheduling.whatif.domain.capacity import FlavorCapacity, RowCapacity, capacity, capacity_by_row
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
    hosts: Collection[str] | None = None,
) -> CapacityReport:
    """Each flavor by itself, as if all room went to it. `project_id`: whose; "" is a project without a host of its own.
    `hosts` leaves those alone.

    Raises Invalid for more flavors than MAX_FLAVORS, PluginFailed naming the plug-in.
    """
    started = now_us()
    if len(flavors) > MAX_FLAVORS:
        raise Invalid(
            _("At most {max_flavors} flavors can be counted at once.", max_flavors=MAX_FLAVORS), field="flavor"
        )
    world = world_edited(fleet_world(facts=fleet_facts), edits)
    world = world if hosts is None else world.only(hosts)
    rules = policy or policy_active()
    rows = tuple(_row(world, flavor, project_id, rules) for flavor in flavors)
    return CapacityReport(rules.version, len(world.rows), rows, now_us() - started)


def capacity_of_nodes(*, flavor: FlavorSnapshot, fleet_facts: FleetFacts) -> tuple[RowCapacity, ...]:
    """How many more of one flavor fit on each node, under the active policy.

    Raises Invalid for a flavor that contradicts itself, PluginFailed naming the plug-in.
    """
    return capacity_by_row(fleet_world(facts=fleet_facts), _request(flavor, ""), policy_active())


def _row(world: World, flavor: FlavorSnapshot, project_id: str, policy: Policy) -> CapacityRow:
    try:
        return CapacityRow(flavor, capacity(world, _request(flavor, project_id), policy))
    except Invalid as error:
        return CapacityRow(flavor, None, error.message)


def _request(flavor: FlavorSnapshot, project_id: str) -> ScheduleRequest:
    request = ScheduleRequest("capacity", project_id, "", ("one",), flavor)
    return replace(request, pci_requests=pci_requests_of(flavor, request.image))
