"""What a policy makes of a whole batch of requests, one after another: hosts used, the fullest, failures, room left."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from controlplane.kernel.errors import Invalid
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.whatif.domain.capacity import capacity
from scheduling.whatif.domain.consumed import world_after
from scheduling.whatif.domain.world import World, world_run


@dataclass(frozen=True, slots=True)
class FullestHost:
    """The host with the largest part of one resource class promised, 0 to 1 and above where it is over its bound."""

    host: str
    resource_class: str
    share: float


@dataclass(frozen=True, slots=True)
class BatchRoom:
    """How many more of a flavor fit by this policy's filters, before the batch and after it; None: not counted."""

    flavor: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """A batch under one policy. `hosts_chosen` got some of it; `hosts_used` have any instance, before and after.

    `busiest` is the host that got most of the batch, with how many. `refusals` say why requests could not be run.
    """

    policy: str
    asked: int
    placed: int
    hosts_chosen: int
    hosts_used_before: int
    hosts_used: int
    busiest: tuple[str, int] | None
    fullest: FullestHost | None
    room: tuple[BatchRoom, ...]
    refusals: tuple[str, ...]

    @property
    def failed(self) -> int:
        """Instances that found no host."""
        return self.asked - self.placed


def batch_run(
    world: World, requests: Sequence[ScheduleRequest], policy: Policy, watched: Sequence[ScheduleRequest], *, seed: int
) -> BatchOutcome:
    """Run them in their order, each on what the former left. `watched`: one request for each flavor whose room is told.

    A request that does not find room for all of its instances places as many as fit. Raises PluginFailed.
    """
    here, chosen, refusals = world, Counter[str](), []
    for request in requests:
        try:
            trace = world_run(here, replace(request, min_count=1), policy, seed=seed)
        except Invalid as error:
            refusals.append(error.message)
            continue
        chosen.update(one.selected.host for one in trace.selections)
        here = world_after(here, request, trace)
    busiest = min(chosen.items(), key=lambda item: (-item[1], item[0]), default=None)
    return BatchOutcome(
        policy=policy.version,
        asked=sum(len(request.instance_uuids) for request in requests),
        placed=sum(chosen.values()),
        hosts_chosen=len(chosen),
        hosts_used_before=_used(world.table),
        hosts_used=_used(here.table),
        busiest=busiest,
        fullest=fullest_host(here.table),
        room=tuple(BatchRoom(one.flavor.name, _room(world, one, policy), _room(here, one, policy)) for one in watched),
        refusals=tuple(dict.fromkeys(refusals)),
    )


def fullest_host(table: HostTable) -> FullestHost | None:
    """Of hosts that are up and enabled; None where there is none with an inventory."""
    live = np.flatnonzero(table.up & table.enabled)
    found: FullestHost | None = None
    for name in sorted(table.inventories):
        columns = table.inventories[name]
        rows = live[columns.capacity[live] > 0]
        if not rows.size:
            continue
        shares = columns.used[rows] / columns.capacity[rows]
        at = int(shares.argmax())
        if found is None or shares[at] > found.share:
            found = FullestHost(table.hosts[int(rows[at])], name, float(shares[at]))
    return found


def _used(table: HostTable) -> int:
    return int(np.count_nonzero(table.num_instances))


def _room(world: World, request: ScheduleRequest, policy: Policy) -> int | None:
    try:
        return capacity(world, request, policy).total.count
    except Invalid:
        return None
