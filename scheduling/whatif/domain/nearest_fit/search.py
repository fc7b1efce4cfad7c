"""What would make a request fit: the smallest changes of request, policy or fleet, each found good by a run.

On one host the search is exact within its bounds: it tries changes by falling smallness, one refusal after the other
(uniform-cost search), on a world of that host alone. On the whole fleet it does so for the nearest hosts of each
reason, and adds what only a fleet can do: fewer instances, more hosts. Every fit was run on the
whole fleet.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import Phrase, gettext_noop, joined
from controlplane.kernel.units import size_text
from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.domain.trace.trace import Outcome, Trace
from scheduling.whatif.domain.edits import world_edited
from scheduling.whatif.domain.nearest_fit.batches import batch_steps, run_trial
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, ChangeStep, Trial
from scheduling.whatif.domain.nearest_fit.steps import steps_for_refusal
from scheduling.whatif.domain.world import World, aimed_at, world_run

MAX_STEPS = 4
RUNS_PER_HOST = 120
RUNS_PER_FLEET = 24
MAX_PER_KIND = 3
NEAREST_PER_REASON = 2
NEAREST_HOSTS = 10
OFFERS_TRIED = 30
# To do without what a flavor says of hosts is more than a little less of anything.
OTHER_SPECS = 0.5


@dataclass(frozen=True, slots=True)
class Fit:
    """Changes that together make the request fit, and the run that showed it. `size` adds up theirs."""

    steps: tuple[ChangeStep, ...]
    trace: Trace

    @property
    def size(self) -> float:
        """How much is given up in all; smaller is nearer."""
        return sum(step.size for step in self.steps)

    @property
    def trial(self) -> Trial:
        """Request, policy and edits with all changes."""
        return self.steps[-1].trial

    @property
    def kinds(self) -> frozenset[ChangeKind]:
        """Who has to change something."""
        return frozenset(step.kind for step in self.steps)

    @property
    def sentence(self) -> str:
        """All changes in words: a phrase, as those of the steps are."""
        return joined((step.sentence for step in self.steps), gettext_noop("{first} and {rest}"))


ChangeSteps = tuple[ChangeStep, ...]


def fits_on_host(world: World, trial: Trial, row: HostRow, offers: Sequence[FlavorSnapshot] = ()) -> list[Fit]:
    """The smallest changes after which this host would take one instance; the best few of each kind, by size."""

    def verified(steps: ChangeSteps) -> Trace | None:
        changed = steps[-1].trial
        return _placed(world_edited(world, changed.edits), aimed_at(changed.request, row), changed.policy)

    return _verified_fits(_search(world.only({row.host}), trial, row, offers), verified)


def fits_anywhere(world: World, trial: Trial, offers: Sequence[FlavorSnapshot] = ()) -> list[Fit]:
    """The smallest changes after which the whole batch finds hosts; empty where it does already."""
    before = run_trial(world, trial)
    if before.outcome is Outcome.SELECTED:
        return []
    proposals = [
        *(steps for row in nearest_hosts(world, before) for steps in _search(world.only({row.host}), trial, row, ())),
        *((step,) for step in _smaller_flavors(trial, offers)),
        *batch_steps(world, trial, before),
    ]

    def verified(steps: ChangeSteps) -> Trace | None:
        changed = steps[-1].trial
        return _placed(world_edited(world, changed.edits), changed.request, changed.policy)

    return _verified_fits(proposals, verified)


def _placed(world: World, request: ScheduleRequest, policy: Policy) -> Trace | None:
    """The run if it finds hosts; None if not, also where a change made the request contradict itself."""
    try:
        trace = world_run(world, request, policy)
    except Invalid:
        return None
    return trace if trace.outcome is Outcome.SELECTED else None


def nearest_hosts(world: World, trace: Trace) -> list[HostRow]:
    """The hosts that lack least room, the best of each first refusal."""
    lack = _lack(world, trace)
    found: dict[int, float] = {}
    for group in (group for each in trace.rounds for group in each.refusals):
        for row in group.rows[np.argsort(lack[group.rows], kind="stable")][:NEAREST_PER_REASON].tolist():
            found[row] = float(lack[row])
    best = sorted(found, key=lambda row: (found[row], row))[:NEAREST_HOSTS]
    return [world.by_host[world.table.hosts[at]] for at in best]


def _lack(world: World, trace: Trace) -> FloatArray:
    """By row: what is missing of each amount, as parts of it, added up."""
    total = np.zeros(len(world.table), dtype=np.float64)
    for name, amount in trace.resources.items():
        total += np.maximum(amount - world.table.inventory(name).free, 0) / amount
    return total


def _verified_fits(proposals: Sequence[ChangeSteps], verified: Callable[[ChangeSteps], Trace | None]) -> list[Fit]:
    """Proposals by size, verified in turn until there are enough of each kind."""
    found: list[Fit] = []
    runs = 0
    # Proposals that read alike are one: the first of them.
    by_words = {frozenset(step.sentence for step in steps): steps for steps in reversed(proposals)}
    by_size = sorted(
        by_words.values(), key=lambda steps: (sum(one.size for one in steps), len(steps), steps[0].sentence)
    )
    for steps in by_size:
        kinds = frozenset(step.kind for step in steps)
        if sum(fit.kinds == kinds for fit in found) >= MAX_PER_KIND or any(_within(fit, steps) for fit in found):
            continue
        if runs == RUNS_PER_FLEET:
            break
        runs += 1
        trace = verified(steps)
        if trace is not None:
            found.append(Fit(steps, trace))
    return found


def _within(fit: Fit, steps: ChangeSteps) -> bool:
    """Whether a fit was found already with a part of these changes."""
    return {one.sentence for one in fit.steps} < {one.sentence for one in steps}


def _search(world: World, trial: Trial, row: HostRow, offers: Sequence[FlavorSnapshot]) -> list[ChangeSteps]:
    """Changes after which `row`, alone in `world`, takes one instance: the smallest first."""
    ticket = count()
    frontier: list[tuple[float, int, ChangeSteps]] = [(0.0, next(ticket), ())]
    for step in _smaller_flavors(trial, offers):
        heapq.heappush(frontier, (step.size, next(ticket), (step,)))
    found: list[ChangeSteps] = []
    for _ in range(RUNS_PER_HOST):
        if not frontier or len(found) >= 3 * MAX_PER_KIND:
            break
        size, _, steps = heapq.heappop(frontier)
        following = _next(world, steps[-1].trial if steps else trial, row)
        if following is None:
            found += [steps] if steps else []
            continue
        for step in following:
            if len(steps) < MAX_STEPS and step.what not in {one.what for one in steps if _is_once(one)}:
                heapq.heappush(frontier, (size + step.size, next(ticket), (*steps, step)))
    return found


def _is_once(step: ChangeStep) -> bool:
    """Steps that settle their matter: doing them twice leads nowhere."""
    return step.what not in ("hint", "extra_spec", "trait", "filter_off", "allocation_ratio", "freed")


def _next(world: World, trial: Trial, row: HostRow) -> list[ChangeStep] | None:
    """None when the host takes the request as it is; else the steps against what it refuses for."""
    edited = world_edited(world, trial.edits)
    try:
        trace = world_run(edited, aimed_at(trial.request, row), trial.policy)
    except Invalid:  # a change made the request contradict itself
        return []
    if trace.outcome is Outcome.SELECTED:
        return None
    refusal = trace.refusal_of(0)
    return [] if refusal is None else list(steps_for_refusal(refusal, trial, edited, edited.by_host[row.host]))


def _smaller_flavors(trial: Trial, offers: Sequence[FlavorSnapshot]) -> list[ChangeStep]:
    """Flavors on offer that are larger nowhere, and smaller somewhere or with other extra specs; the nearest first."""
    mine, specs = _sizes(trial.request.flavor), trial.request.flavor.extra_specs
    steps: list[ChangeStep] = []
    for offer in offers:
        sizes = _sizes(offer)
        if (
            offer.id != trial.request.flavor.id
            and (sizes != mine or offer.extra_specs != specs)
            and all(b <= a for a, b in zip(mine, sizes, strict=True))
        ):
            size = sum((before - after) / before for before, after in zip(mine, sizes, strict=True) if before)
            size += OTHER_SPECS if offer.extra_specs != specs else 0.0
            changed = replace(trial, request=replace(trial.request, flavor=offer))
            words = size_text(vcpus=offer.vcpus, memory_mib=offer.memory_mib, root_gib=offer.root_gib)
            sentence = Phrase(gettext_noop("use the flavor {name} ({words})"), name=offer.name, words=words)
            steps.append(ChangeStep(ChangeKind.REQUEST, "flavor", sentence, size, changed))
    return sorted(steps, key=lambda step: step.size)[:OFFERS_TRIED]


def _sizes(flavor: FlavorSnapshot) -> tuple[int, ...]:
    return flavor.vcpus, flavor.memory_mib, flavor.root_gib + flavor.ephemeral_gib, flavor.swap_mib
