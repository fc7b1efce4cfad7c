"""Every rule that refuses a host, not the first alone."""

import numpy as np

from controlplane.kernel.reasons import Refusal
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.request.resources import resource_request
from scheduling.engine.placement import refuse_full
from scheduling.engine.schedule import refusals_by_stage
from scheduling.schedulers.registry import policy_plugins
from scheduling.whatif.domain.edits import world_edited
from scheduling.whatif.domain.nearest_fit.change import Trial
from scheduling.whatif.domain.world import World, aimed_at, world_candidates

PLACEMENT = "placement"


def rules_refusing(world: World, trial: Trial, row: HostRow) -> list[Refusal]:
    """What each stage and filter says against one instance on this host, in their order; room class by class."""
    alone = world_edited(world, trial.edits).only({row.host})
    request = aimed_at(trial.request, row)
    candidates = world_candidates(alone, request, trial.policy)
    found = refusals_by_stage(alone.table, request, policy_plugins(trial.policy), 0, candidates=candidates)
    if candidates is None or row.uuid in candidates.spread:
        return found
    before = [one for one in found if one.stage in ("request_filters", PLACEMENT)]
    after = [one for one in found if one not in before]
    return [*before, *(one for one in _short(alone, trial) if one not in before), *after]


def _short(alone: World, trial: Trial) -> list[Refusal]:
    """Each class that the host has too little of."""
    rows = np.zeros(1, dtype=np.int64)
    hosts = Hosts(alone.table, rows, PLACEMENT, {}, {})
    return [
        group.refusal_at(0)
        for name, amount in resource_request(trial.request).amounts.items()
        for group in refuse_full({name: amount}, hosts)
    ]
