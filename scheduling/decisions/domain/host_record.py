"""What one decision says of one host, read without the names and numbers of all others.

A record over many decisions reads many blobs, so nothing is unfolded here that one host does not need.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.decisions.ledger.record import DecisionRecord, data_of_blob, record_of_blob
from scheduling.domain.trace.columns import is_row_in
from scheduling.domain.trace.trace import Trace
from scheduling.domain.trace.weighing import Ranking

RefusalRule = tuple[str, RefusalReason]
"""The stage that refused, and why."""


@dataclass(frozen=True, slots=True)
class RankedOnce:
    """Where a host that passed every filter stood. `rank` is from 1 of `ranked`; None beyond the best that were kept.

    `behind` are the points by which each weigher put the chosen host ahead of it (negative: it was ahead itself).
    """

    rank: int | None
    ranked: int
    behind: tuple[tuple[str, float], ...] = ()


def refusing_rule(blob: bytes, row: int) -> RefusalRule | None:
    """Which stage refused the host of this row first, and why; None if it never was refused. Raises OtherVersion."""
    _, trace = data_of_blob(blob)
    for each in () if trace is None else trace["rounds"]:
        for group in each["refusals"]:
            if is_row_in(group["hosts"], row):
                return group["stage"], RefusalReason(group["reason"])
    return None


def record_without_names(blob: bytes, host_count: int) -> DecisionRecord:
    """The record of a blob, its hosts without names: names are half of what reading it costs."""
    return record_of_blob(blob, names={"hosts": [""] * host_count, "nodes": None})


def ranked_once(trace: Trace, row: int, counts: Collection[int] = ()) -> RankedOnce | None:
    """Where a host stood in the last round that ranked it; None if no round did.

    `counts` are the sizes of the rankings where the trace was cut to the best hosts of each.
    """
    rankings = [each.ranking for each in trace.rounds]
    sizes = list(counts) or [0 if each is None else len(each.rows) for each in rankings]
    found = [
        (ranking, size)
        for ranking, size in zip(rankings, sizes, strict=False)
        if ranking is not None and (ranking.position_of(row) is not None or size > len(ranking.rows))
    ]
    if not found:
        return None
    ranking, size = found[-1]
    position = ranking.position_of(row)
    if position is None:
        return RankedOnce(None, size)
    return RankedOnce(ranking.rank_of(row), size, _behind(ranking, position))


def _behind(ranking: Ranking, position: int) -> tuple[tuple[str, float], ...]:
    best = int(ranking.order[0])
    points = ((each.name, np.asarray(each.weighted())) for each in ranking.weighers)
    return tuple((name, float(column[best] - column[position])) for name, column in points)
