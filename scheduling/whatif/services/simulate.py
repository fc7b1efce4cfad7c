"""A dry run of the whole scheduling on the present fleet, or on one that is imagined. Nothing is written or claimed."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.decisions.services.record import now_us
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import Trace
from scheduling.fleet.facts import FleetFacts
from scheduling.models import SchedulerPolicy
from scheduling.policies.check import policy_plugins_check
from scheduling.policies.selectors.policies import policy_active, policy_of_body
from scheduling.whatif.domain.edits import MAX_ADDED, NO_EDITS, FleetEdits, world_edited
from scheduling.whatif.domain.world import World, world_run
from scheduling.whatif.selectors.fleet_world import fleet_world

MAX_INSTANCES = 100
INLINE = "inline"


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a dry run said, under which policy, on which world. `duration_us` is all of it, the reading included."""

    trace: Trace
    policy: Policy
    world: World
    duration_us: int


def schedule_simulate(
    *,
    request: ScheduleRequest,
    fleet_facts: FleetFacts,
    policy: Policy | None = None,
    edits: FleetEdits = NO_EDITS,
    seed: int | None = None,
) -> Simulation:
    """Where the batch would go now. `policy` None: the active one. `seed` None: a fresh one, as in a real run.

    Raises Invalid naming the field (too many instances, a host that is not there, a flavor that contradicts itself),
    PluginFailed naming the plug-in.
    """
    started = now_us()
    _check(request, edits)
    world = world_edited(fleet_world(facts=fleet_facts), edits)
    rules = policy or policy_active()
    drawn = secrets.randbits(31) if seed is None else seed
    trace = world_run(world, request, rules, seed=drawn, stopwatch=now_us)
    return Simulation(trace, rules, world, now_us() - started)


def policy_wanted(reference: str | Mapping[str, Any] | None) -> Policy | None:
    """A version by id or label (`default-v3`), or a body that is stored nowhere; None where none is named.

    Raises Invalid for the field `policy` or one of its settings, PluginNotFound for a filter that is not there.
    """
    if reference is None or reference == "":
        return None
    if isinstance(reference, Mapping):
        policy = policy_of_body(dict(reference), version=INLINE)
    else:
        row = _policy_row(reference)
        policy = policy_of_body(row.body, version=row.label)
    policy_plugins_check(policy)
    return policy


def _policy_row(reference: str) -> SchedulerPolicy:
    uuid = parse_uuid(reference)
    name, _rest, number = reference.rpartition("-v")
    rows = SchedulerPolicy.objects.all()
    found = None
    if uuid is not None:
        found = rows.filter(pk=uuid).first()
    elif name and number.isdecimal() and len(number) < 10:
        found = rows.filter(name=name, version=int(number)).first()
    if found is None:
        raise Invalid(_("There is no policy {reference:.80}.", reference=reference), field="policy")
    return found


def _check(request: ScheduleRequest, edits: FleetEdits) -> None:
    if not 1 <= len(request.instance_uuids) <= MAX_INSTANCES:
        raise Invalid(
            _("count is a whole number from 1 to {max_instances}.", max_instances=MAX_INSTANCES), field="count"
        )
    if sum(one.count for one in edits.hosts_added) > MAX_ADDED:
        raise Invalid(_("At most {max_added} hosts can be added.", max_added=MAX_ADDED), field="hosts_added")
