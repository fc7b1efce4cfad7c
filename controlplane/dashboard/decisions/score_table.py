"""The scores of a decision as a table that can be read: weighers that moved nothing are named, not listed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from controlplane.kernel.natural import natural_key
from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.trace.trace import Trace
from scheduling.domain.trace.weighing import Ranking, WeigherColumn

BY_RANK = "rank"


@dataclass(frozen=True, slots=True)
class Score:
    """What one weigher gave one host: the value it saw, that value scaled to 0..1, the multiplier, the points."""

    raw: float
    normalised: float
    multiplier: float
    points: float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One host. `scores` are in the order of the table's `columns`."""

    host: str
    node: str
    rank: int
    total: float
    scores: list[Score]


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """A weigher's column: what it is called, by which words it is sorted, and how it is sorted now."""

    title: str
    key: str
    sorted: str = ""

    @property
    def next_key(self) -> str:
        """What the next click sorts by: the most points first, then the fewest."""
        return self.key if self.sorted == "descending" else f"-{self.key}"


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable(Sequence[ScoreRow]):
    """Hosts in the order that was asked for; rows are made when they are read.

    `silent` names weighers that gave every host no points. `ranked` counts all hosts, also those that were not stored.
    """

    trace: Trace
    ranking: Ranking
    columns: tuple[ScoreColumn, ...]
    silent: tuple[str, ...]
    ranked: int
    order: IntArray
    sort: str
    deciding: tuple[WeigherColumn, ...] = ()
    ranks: dict[int, int] = field(default_factory=dict)
    normalised: tuple[FloatArray, ...] = ()

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> ScoreRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[ScoreRow]: ...
    def __getitem__(self, index: int | slice) -> ScoreRow | list[ScoreRow]:
        if isinstance(index, slice):
            return [self._row(at) for at in self.order[index].tolist()]
        return self._row(int(self.order[index]))

    def _row(self, at: int) -> ScoreRow:
        row = int(self.ranking.rows[at])
        scores = [_score(weigher, scaled, at) for weigher, scaled in zip(self.deciding, self.normalised, strict=True)]
        total = float(self.ranking.scores[at])
        return ScoreRow(self.trace.hosts[row], self.trace.nodes[row], self.ranks[at], total, scores)


def score_table(trace: Trace | None, number: int, *, ranked: Sequence[int] = (), sort: str = "") -> ScoreTable | None:
    """The ranking of round `number` (from 1); None where nothing was weighed. `ranked` as a decision's content has it.

    `sort` is rank, host or a weigher's name, with a minus before it for the other way round; anything else is rank.
    """
    ranking = trace.rounds[number - 1].ranking if trace and 0 < number <= len(trace.rounds) else None
    if trace is None or ranking is None or not ranking.weighers or not len(ranking.rows):
        return None
    deciding = tuple(each for each in ranking.weighers if np.any(each.weighted()))
    key, falling = sort.removeprefix("-"), sort.startswith("-")
    by_name = {each.name: each for each in deciding}
    key = key if key in by_name or key == "host" else BY_RANK
    order = _order(trace, ranking, by_name.get(key), key, falling=falling)
    way = "descending" if falling else "ascending"
    return ScoreTable(
        trace=trace,
        ranking=ranking,
        columns=tuple(ScoreColumn(_short(one.name), one.name, way if one.name == key else "") for one in deciding),
        silent=tuple(_short(one.name) for one in ranking.weighers if one.name not in by_name),
        ranked=ranked[number - 1] if len(ranked) >= number else len(ranking.rows),
        order=order,
        sort=f"{'-' if falling else ''}{key}",
        deciding=deciding,
        ranks={at: rank for rank, at in enumerate(ranking.order.tolist(), 1)},
        normalised=tuple(one.normalised() for one in deciding),
    )


def _order(trace: Trace, ranking: Ranking, weigher: WeigherColumn | None, key: str, *, falling: bool) -> IntArray:
    """Positions in the ranking's rows. Equals stay in the order of rank."""
    best: IntArray = ranking.order
    if weigher is not None:
        points = weigher.weighted()[best]
        return best[np.argsort(-points if falling else points, kind="stable")]
    if key == "host":
        names = sorted(best.tolist(), key=lambda at: natural_key(trace.hosts[int(ranking.rows[at])]), reverse=falling)
        return np.array(names, dtype=np.int64)
    return best[::-1] if falling else best


def _score(weigher: WeigherColumn, normalised: FloatArray, at: int) -> Score:
    given: Any = weigher.multiplier
    multiplier = float(given[at]) if isinstance(given, np.ndarray) else float(given)
    scaled = float(normalised[at])
    return Score(float(weigher.raw[at]), scaled, multiplier, multiplier * scaled)


def _short(weigher: str) -> str:
    return weigher.removesuffix("Weigher")
