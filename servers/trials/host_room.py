"""How many more instances fit on hosts, for callers: of each flavor on one host, of one flavor on each host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.domain.fleet_map import RoomOnNode
from scheduling.fleet.selectors.hosts import host_get
from scheduling.whatif.services.capacity import MAX_FLAVORS, capacity_count, capacity_of_nodes
from servers.catalog.selectors.flavor import flavor_for_instance, flavor_snapshot
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.trials.schedule_trial import flavors_offered


@dataclass(frozen=True, slots=True)
class FlavorRoom:
    """How many more of a flavor the host takes, as if all its room went to it, and what stops one more.

    `problem` says why that could not be counted; then `fits` is None. `is_lower_bound`: the count was cut off.
    """

    flavor: FlavorSnapshot
    fits: int | None
    limit: str = ""
    is_lower_bound: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HostRoom:
    """The room of one host under one policy, the smallest flavor first. `left_out` flavors were not counted."""

    host: str
    policy_version: str
    rooms: tuple[FlavorRoom, ...]
    left_out: int
    duration_us: int


def host_room(*, caller: Caller, host: str) -> HostRoom:
    """The room for each enabled flavor, by the rules of the capacity matrix. Raises NotFound, PluginFailed."""
    require(caller, "capacity:read")
    known = host_get(host=host).host
    offered = sorted(flavors_offered(caller), key=lambda one: (one.vcpus, one.memory_mib, one.root_gib, one.name))
    report = capacity_count(
        flavors=offered[:MAX_FLAVORS], fleet_facts=fleet_facts(None, scheduling_inputs()), hosts={known}
    )
    rooms = []
    for row in report.rows:
        room = row.room.total if row.room else None
        if room is None:
            rooms.append(FlavorRoom(row.flavor, None, problem=row.problem))
        else:
            rooms.append(FlavorRoom(row.flavor, room.count, room.binds or "", room.is_lower_bound))
    left_out = max(0, len(offered) - MAX_FLAVORS)
    return HostRoom(known, report.policy_version, tuple(rooms), left_out, report.duration_us)


def room_by_node(*, caller: Caller, flavor: str) -> tuple[FlavorSnapshot, Mapping[str, RoomOnNode]]:
    """The flavor (by id or name), and how many more of it fit on each node, by node name.

    Raises Invalid for a flavor that is not there or contradicts itself, PluginFailed.
    """
    require(caller, "capacity:read")
    found = FlavorSnapshot(**flavor_snapshot(flavor_for_instance(caller=caller, reference=flavor)))
    rows = capacity_of_nodes(flavor=found, fleet_facts=fleet_facts(None, scheduling_inputs()))
    rooms = {
        row.node: RoomOnNode(None if row.is_lower_bound and not row.count else row.count, row.is_lower_bound, row.limit)
        for row in rows
    }
    return found, rooms


def flavor_names(caller: Caller) -> Sequence[str]:
    """The flavors that may be asked about, the smallest first. One query."""
    offered = flavors_offered(caller)
    return [one.name for one in sorted(offered, key=lambda one: (one.vcpus, one.memory_mib, one.root_gib, one.name))]
