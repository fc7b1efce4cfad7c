"""Which flavors fit on no host now, by themselves: a lean run of the scheduler for each. Nothing is written."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from controlplane.kernel.errors import Invalid
from scheduling.domain.policy import DEFAULT_SCHEDULER, Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.domain.trace.trace import Outcome
from scheduling.fleet.facts import FleetFacts
from scheduling.policies.selectors.policies import policy_active
from scheduling.schedulers.registry import policy_plugins
from scheduling.topology.selectors.pci_aliases import pci_requests_of
from scheduling.whatif.domain.world import World, world_run
from scheduling.whatif.selectors.fleet_world import fleet_world


def flavors_fitting_nowhere(
    *,
    flavors: Sequence[FlavorSnapshot],
    fleet_facts: FleetFacts,
    project_id: str,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> frozenset[str]:
    """Ids of those that no host takes, whatever the image and the zone. After so many seconds nothing is said of the
    rest. A constant number of queries. Raises PluginFailed naming the plug-in.
    """
    until = clock() + seconds
    world, policy = fleet_world(facts=fleet_facts), _lean(policy_active())
    found = set()
    for flavor in flavors:
        if clock() > until:
            break
        if not _fits(world, flavor, project_id, policy):
            found.add(flavor.id)
    return frozenset(found)


def _lean(policy: Policy) -> Policy:
    """Who fits is a matter of filters; the order of those who do is not asked for."""
    return replace(policy_plugins(policy), scheduler=DEFAULT_SCHEDULER, weighers=(), host_subset_size=1)


def _fits(world: World, flavor: FlavorSnapshot, project_id: str, policy: Policy) -> bool:
    request = ScheduleRequest("fitting", project_id, "", ("one",), flavor)
    try:
        asked = replace(request, pci_requests=pci_requests_of(flavor, request.image))
        return world_run(world, asked, policy).outcome is Outcome.SELECTED
    except Invalid:
        return False
