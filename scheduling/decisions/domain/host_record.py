"""What one decision says of one host, read without the names and numbers of all others.

A record over many decisions reads many blobs, so nothing is unfolded here that one host does not need.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.decisions.ledger.container import ChunkReader, is_container, reader_of, uncompressed
from scheduling.decisions.ledger.record import FORMAT, DecisionRecord, record_of_blob
from scheduling.domain.trace.compact import rows_from_text
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
    """Which stage refused the host of this row first, and why; None if it never was refused.

    Raises ValueError for a blob that is none of the ledger's present format.
    """
    reader = _trace_reader(blob)
    if reader is None:
        return None
    trace = reader.head.get("trace", reader.head)
    for each in trace["rounds"]:
        for group in each["refusals"]:
            if _holds(reader, group["hosts"], row):
                return group.get("stage", ""), RefusalReason(group["reason"])
    return None


def _trace_reader(blob: bytes) -> ChunkReader | None:
    if not is_container(blob):
        raise ValueError("not a blob of the ledger")
    outer = reader_of(uncompressed(blob))
    if outer.head.get("format") != FORMAT:
        raise ValueError(f"a decision of the unknown format {outer.head.get('format')!r}")
    return None if outer.head["trace"] is None else reader_of(outer.chunks[outer.head["trace"]])


def _holds(reader: ChunkReader, hosts: Any, row: int) -> bool:
    """Whether a set of rows holds this one: ranges as text ('0-4,7'), or marks."""
    if isinstance(hosts, Mapping):
        marks = reader.array(hosts["column"])
        return row < len(marks) and bool(marks[row])
    return bool((rows_from_text(hosts) == row).any())


def record_without_names(blob: bytes, host_count: int) -> DecisionRecord:
    """The record of a blob, its hosts without names: names are half of what reading it costs."""
    return record_of_blob(blob, names={"hosts": [""] * host_count, "nodes": None})


def rule_in(trace: Trace, row: int) -> RefusalRule | None:
    """The same as `refusing_rule`, from a trace that was read."""
    refusal = trace.refusal_of(row)
    return None if refusal is None else (refusal.stage, refusal.reason)


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
