"""What would place a whole batch of which a part fits: fewer, smaller, more room on one host, more hosts.

These are proposals only: the caller runs each of them before anybody sees it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.trace.trace import Outcome, Trace
from scheduling.whatif.domain.edits import FleetEdits, HostAddEdit, world_edited
from scheduling.whatif.domain.nearest_fit.amounts import ask_for_less, class_of, free_room, raise_ratio
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, ChangeStep, Trial
from scheduling.whatif.domain.world import World, world_run

ChangeSteps = tuple[ChangeStep, ...]
HOSTS_TRIED = 6
TEMPLATES = 3
# A host that has to be bought is more than one that has to be switched on.
NEW_HOST = 2.0


def batch_steps(world: World, trial: Trial, before: Trace) -> Iterator[ChangeSteps]:
    """Proposals for the batch whose run was `before`."""
    for step in more_hosts(world, trial):
        yield (step,)
    total = len(trial.request.instance_uuids)
    part = run_trial(world, replace(trial, request=replace(trial.request, min_count=1)))
    placed = len(part.selections)
    if not 0 < placed < total:
        return
    yield (_fewer(trial, placed),)
    short = before.rounds[-1].refusals if before.rounds else ()
    for name in dict.fromkeys(class_of(group.refusal) for group in short):
        if name in before.resources:
            yield from _smaller(world, trial, name)
    yield from _more_room(world, trial, part, total - placed)


def run_trial(world: World, trial: Trial) -> Trace:
    """One run of the trial's request, policy and edits."""
    return world_run(world_edited(world, trial.edits), trial.request, trial.policy)


def is_placed(world: World, trial: Trial) -> bool:
    """Whether the whole batch finds hosts."""
    return run_trial(world, trial).outcome is Outcome.SELECTED


def _fewer(trial: Trial, placed: int) -> ChangeStep:
    """As many of the batch as fit."""
    uuids = trial.request.instance_uuids
    request = replace(trial.request, instance_uuids=uuids[:placed], min_count=None)
    size = (len(uuids) - placed) / len(uuids)
    sentence = Phrase(gettext_noop("ask for {count} instead of {total} instances"), count=placed, total=len(uuids))
    return ChangeStep(ChangeKind.REQUEST, "count", sentence, size, replace(trial, request=request))


def _smaller(world: World, trial: Trial, name: str) -> Iterator[ChangeSteps]:
    """The largest amount of one class, below what is asked for, with which all of the batch fits."""
    wanted = run_trial(world, trial).resources.get(name, 0)

    def works(less: int) -> bool:
        return any(is_placed(world, step.trial) for step in ask_for_less(trial, name, wanted - less))

    less = smallest_that_works(wanted - 1, works) if wanted > 1 else None
    if less is not None:
        for step in ask_for_less(trial, name, wanted - less):
            yield (step,)


def _more_room(world: World, trial: Trial, part: Trace, left: int) -> Iterator[ChangeSteps]:
    """Room on one host for all that is left: by a higher ratio, or by freeing what is in use."""
    taken = Counter(each.selected.host for each in part.selections)
    for host, count in taken.most_common(HOSTS_TRIED):
        row = world_edited(world, trial.edits).by_host[host]
        for propose in (raise_ratio, free_room):
            steps: list[ChangeStep] = []
            for name, amount in part.resources.items():
                then = steps[-1].trial if steps else trial
                steps += propose(then, row, name, amount * count, amount * left)
            if steps:
                yield tuple(steps)


def more_hosts(world: World, trial: Trial) -> Iterator[ChangeStep]:
    """The least number of hosts like one that is there; one host of each common size is tried."""
    maximum = len(trial.request.instance_uuids)
    first = replace(trial.request, instance_uuids=trial.request.instance_uuids[:1], min_count=None)
    for row in _templates(world):
        one = replace(with_hosts(trial, row, 1), request=first)
        if not is_placed(world.only({row.host}), one):
            continue
        number = smallest_that_works(maximum, partial(_holds, world, trial, row))
        if number is not None:
            template = gettext_noop("add {count} hosts like {host}")
            if number == 1:
                template = gettext_noop("add {count} host like {host}")
            sentence = Phrase(template, count=number, host=row.host)
            then = with_hosts(trial, row, number)
            yield ChangeStep(ChangeKind.FLEET, "hosts_added", sentence, NEW_HOST * number, then, names_host=True)


def _holds(world: World, trial: Trial, row: HostRow, number: int) -> bool:
    return is_placed(world, with_hosts(trial, row, number))


def with_hosts(trial: Trial, row: HostRow, number: int) -> Trial:
    """The trial on a fleet with so many more hosts like this one."""
    return replace(trial, edits=trial.edits.plus(FleetEdits(hosts_added=(HostAddEdit(row.host, number),))))


def smallest_that_works(maximum: int, works: Callable[[int], bool]) -> int | None:
    """The least number from 1 to `maximum` that works, if more never does worse; None if not even `maximum` does."""
    if not works(maximum):
        return None
    low, high = 1, maximum
    while low < high:
        middle = (low + high) // 2
        if works(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _templates(world: World) -> list[HostRow]:
    """One host of each size, the most frequent sizes first; a host that is in use before one that is off."""
    sizes: dict[tuple[tuple[str, int], ...], list[HostRow]] = {}
    for row in world.rows:
        size = tuple(sorted((name, usage.total) for name, usage in row.inventories.items()))
        sizes.setdefault(size, []).append(row)
    common = sorted(sizes.values(), key=lambda rows: (-len(rows), rows[0].host))
    return [min(rows, key=lambda row: (not (row.enabled and row.up), row.host)) for rows in common[:TEMPLATES]]
