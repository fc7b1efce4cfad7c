"""Two policies on the same hosts and the same request: do they agree, and what would the other one cost or save?"""

from collections.abc import Iterator, Mapping
from itertools import zip_longest

import numpy as np

from scheduling.domain.columns import IntArray
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.trace.trace import Outcome, Trace
from scheduling.policies.domain.comparison import Agreement, PolicyComparison

LARGER = (2, 4, 8)


def policies_compare(table: HostTable, decided: Trace, other: Trace) -> PolicyComparison:
    """Both traces are of the same request on `table`, which is not changed."""
    ours, theirs = _nodes(decided), _nodes(other)
    moved = sum(one != two for one, two in zip_longest(ours, theirs))
    differences = list(_score_differences(table, decided, other))
    return PolicyComparison(
        agreement=_agreement(decided, other, moved),
        moved=moved,
        decided_hosts=tuple(each.selected.host for each in decided.selections),
        other_hosts=tuple(each.selected.host for each in other.selections),
        score_difference=sum(differences) / len(differences) if differences else None,
        decided_fragmentation=fragmentation(table, decided),
        other_fragmentation=fragmentation(table, other),
    )


def fragmentation(table: HostTable, trace: Trace) -> float | None:
    """Of the room that this plan leaves, the part (0 to 1) that larger instances cannot use, as it lies in pieces.

    For instances 2, 4 and 8 times as large as the one placed: 1 - (how many fit, host by host) / (how many would if
    all free room were on one host), on average; sizes of which not even one would are left out. (For its own size it
    would say nothing: wherever an instance goes, one less fits.) Hosts that are up and enabled count. None when
    nothing was placed. The room of child and sharing providers is not compared.
    """
    wanted = {name: amount for name, amount in trace.resources.items() if amount > 0}
    if trace.outcome is not Outcome.SELECTED or not wanted:
        return None
    free = _free_after(table, trace)
    sizes = ({name: amount * times for name, amount in wanted.items()} for times in LARGER)
    parts = [part for size in sizes if (part := _unusable(free, size)) is not None]
    return sum(parts) / len(parts) if parts else 0.0


def _free_after(table: HostTable, trace: Trace) -> dict[str, IntArray]:
    """What live hosts have left of each class once the plan is carried out."""
    free = {name: np.maximum(table.inventory(name).free, 0) for name in trace.resources}
    for each in trace.selections:
        row = table.row_by_uuid[each.selected.compute_node_uuid]
        for name, amount in trace.resources.items():
            free[name][row] = max(0, free[name][row] - amount)
    live = table.up & table.enabled
    return {name: column[live] for name, column in free.items()}


def _unusable(free: Mapping[str, IntArray], size: Mapping[str, int]) -> float | None:
    at_best = min(int(free[name].sum()) // amount for name, amount in size.items())
    if not at_best:
        return None
    fits = np.min([free[name] // amount for name, amount in size.items()], axis=0)
    return 1.0 - int(fits.sum()) / at_best


def _nodes(trace: Trace) -> list[str]:
    return [each.selected.compute_node_uuid for each in trace.selections]


def _agreement(decided: Trace, other: Trace, moved: int) -> Agreement:
    found, finds = (trace.outcome is Outcome.SELECTED for trace in (decided, other))
    if found and finds:
        return Agreement.ELSEWHERE if moved else Agreement.SAME
    if found:
        return Agreement.WOULD_FAIL
    return Agreement.WOULD_SUCCEED if finds else Agreement.BOTH_FAIL


def _score_differences(table: HostTable, decided: Trace, other: Trace) -> Iterator[float]:
    """Instance by instance: the other's points of its own host minus its points of the host that was decided."""
    for each, one, two in zip(other.rounds, _nodes(decided), _nodes(other), strict=False):
        if each.ranking is None:
            return
        at, there = (each.ranking.position_of(table.row_by_uuid[node]) for node in (one, two))
        if at is not None and there is not None:
            yield float(each.ranking.scores[there] - each.ranking.scores[at])
