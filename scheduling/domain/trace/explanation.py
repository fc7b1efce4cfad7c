"""Why not this host: the answer for one host, from the trace alone."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from controlplane.kernel.reasons import Refusal
from controlplane.kernel.texts import Phrase, gettext_noop
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

    `sentence` is a phrase, which pages say in the reader's language. `behind_by` maps weighers to the points by which
    the chosen host was ahead, the largest first.
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
        absent = gettext_noop("{host} was not among the {count} hosts looked at")
        return Explanation(host, HostResult.UNKNOWN, Phrase(absent, host=host, count=trace.host_count))
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
        chosen = gettext_noop("{host} was chosen for {count} of {total}")
        sentence = Phrase(chosen, host=host, count=count, total=trace.instance_count)
        return Explanation(host, HostResult.SELECTED, sentence)
    refusal = trace.refusal_of(row)
    if refusal is not None:
        refused = gettext_noop("{host} was refused by {stage}: {sentence}")
        sentence = Phrase(refused, host=host, stage=refusal.stage, sentence=refusal.phrase())
        return Explanation(host, HostResult.REFUSED, sentence, refusal=refusal)
    return _explain_ranked(trace, host, row, node)


def _explain_ranked(trace: Trace, host: str, row: int, node: tuple[str, str]) -> Explanation:
    rankings = (each.ranking for each in reversed(trace.rounds) if each.ranking is not None)
    last = next((ranking for ranking in rankings if ranking.position_of(row) is not None), None)
    if last is None:
        early = gettext_noop("{host} was not looked at: the run ended before")
        return Explanation(host, HostResult.UNKNOWN, Phrase(early, host=host))
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
) -> Phrase:
    winner = trace.hosts[int(ranking.ranked_rows()[0])]
    place = {"host": host, "rank": rank, "count": len(ranking.rows), "winner": winner}
    if not behind:
        return Phrase(
            gettext_noop("{host} passed every filter and came {rank} of {count}; {winner} won among equals"), **place
        )
    ahead = gettext_noop(
        "{host} passed every filter and came {rank} of {count}; {winner} won: {points:.3g} points ahead by {weigher}"
    )
    return Phrase(ahead, **place, points=behind[0][1], weigher=behind[0][0])


def _behind_by(ranking: Ranking, best: int, position: int) -> tuple[tuple[str, float], ...]:
    gaps: list[tuple[str, float]] = []
    for weigher in ranking.weighers:
        weighted = weigher.weighted()
        gap = float(weighted[best] - weighted[position])
        if gap > 0:
            gaps.append((weigher.name, gap))
    return tuple(sorted(gaps, key=lambda each: -each[1]))
