"""Why not this host: the answer for one host, from the trace alone."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from controlplane.kernel.reasons import Refusal
from scheduling.domain.trace.trace import Trace
from scheduling.domain.trace.weighing import Ranking


class HostResult(StrEnum):
    """What became of one host."""

    SELECTED = "selected"
    ALTERNATE = "alternate"
    RANKED = "ranked"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one host was or was not chosen. `rank` is from 1 of `ranked`, in the last round that ranked the host.

    `behind_by` maps weighers to the points by which the chosen host was ahead, the largest first.
    """

    host: str
    result: HostResult
    sentence: str
    refusal: Refusal | None = None
    rank: int | None = None
    ranked: int | None = None
    score: float | None = None
    behind_by: tuple[tuple[str, float], ...] = ()


def why_not(trace: Trace, host: str) -> Explanation:
    """Why `host` (or node) was not chosen, or that it was."""
    rows = trace.rows_named(host)
    if not rows:
        return Explanation(host, HostResult.UNKNOWN, f"{host} was not among the {trace.host_count} hosts looked at")
    return max((_explain(trace, host, row) for row in rows), key=lambda each: _CLOSENESS[each.result])


_CLOSENESS = {
    HostResult.SELECTED: 4,
    HostResult.ALTERNATE: 3,
    HostResult.RANKED: 2,
    HostResult.REFUSED: 1,
    HostResult.UNKNOWN: 0,
}


def _explain(trace: Trace, host: str, row: int) -> Explanation:
    node = (trace.hosts[row], trace.nodes[row])
    count = sum((each.selected.host, each.selected.nodename) == node for each in trace.selections)
    if count:
        return Explanation(host, HostResult.SELECTED, f"{host} was chosen for {count} of {trace.instance_count}")
    refusal = trace.refusal_of(row)
    if refusal is not None:
        sentence = f"{host} was refused by {refusal.stage}: {refusal.sentence()}"
        return Explanation(host, HostResult.REFUSED, sentence, refusal=refusal)
    return _explain_ranked(trace, host, row, node)


def _explain_ranked(trace: Trace, host: str, row: int, node: tuple[str, str]) -> Explanation:
    rankings = (each.ranking for each in reversed(trace.rounds) if each.ranking is not None)
    last = next((ranking for ranking in rankings if ranking.position_of(row) is not None), None)
    if last is None:
        return Explanation(host, HostResult.UNKNOWN, f"{host} was not looked at: the run ended before")
    alternate = any((each.host, each.nodename) == node for one in trace.selections for each in one.alternates)
    position, rank = int(np.searchsorted(last.rows, row)), last.rank_of(row)
    best = int(last.order[0])
    behind = _behind_by(last, best, position)
    return Explanation(
        host,
        HostResult.ALTERNATE if alternate else HostResult.RANKED,
        _ranked_sentence(trace, host, last, rank, behind),
        rank=rank,
        ranked=len(last.rows),
        score=float(last.scores[position]),
        behind_by=behind,
    )


def _ranked_sentence(
    trace: Trace, host: str, ranking: Ranking, rank: int | None, behind: tuple[tuple[str, float], ...]
) -> str:
    winner = trace.hosts[int(ranking.ranked_rows()[0])]
    text = f"{host} passed every filter and came {rank} of {len(ranking.rows)}; {winner} won"
    return f"{text}: {behind[0][1]:.3g} points ahead by {behind[0][0]}" if behind else f"{text} among equals"


def _behind_by(ranking: Ranking, best: int, position: int) -> tuple[tuple[str, float], ...]:
    gaps: list[tuple[str, float]] = []
    for weigher in ranking.weighers:
        weighted = weigher.weighted()
        gap = float(weighted[best] - weighted[position])
        if gap > 0:
            gaps.append((weigher.name, gap))
    return tuple(sorted(gaps, key=lambda each: -each[1]))
