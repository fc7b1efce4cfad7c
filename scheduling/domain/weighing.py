"""Weights as Nova computes them: raw values scaled over the hosts of this request, times a multiplier."""

from dataclasses import dataclass

import numpy as np

from scheduling.domain.columns import FloatArray, IntArray


def normalise(raw: FloatArray, *, floor: float | None = None, ceiling: float | None = None) -> FloatArray:
    """Scale to 0..1: (value - low) / (high - low).

    low and high are the extremes seen, unless the weigher declares its own, which then also clamp the values. Where
    low equals high all become 0. Source: Nova's weight normalisation.
    """
    values = clamp(raw, floor=floor, ceiling=ceiling)
    low = float(values.min()) if floor is None else floor
    high = float(values.max()) if ceiling is None else ceiling
    if low == high:
        return np.zeros(len(values), dtype=np.float64)
    return (values - low) / (high - low)


def clamp(raw: FloatArray, *, floor: float | None = None, ceiling: float | None = None) -> FloatArray:
    """The values, none below a declared floor or above a declared ceiling."""
    values = raw if floor is None else np.maximum(raw, floor)
    return values if ceiling is None else np.minimum(values, ceiling)


@dataclass(frozen=True, slots=True, eq=False)
class WeigherColumn:
    """What one weigher said about each ranked host. `multiplier` is one number, or one per host."""

    name: str
    raw: FloatArray
    multiplier: float | FloatArray
    floor: float | None = None
    ceiling: float | None = None

    def normalised(self) -> FloatArray:
        """The values from 0 to 1."""
        return normalise(self.raw, floor=self.floor, ceiling=self.ceiling)

    def weighted(self) -> FloatArray:
        """What this weigher adds to each score."""
        return self.multiplier * self.normalised()


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Hosts that passed, with their scores. `rows` ascend; `order` are positions in `rows`, the best first.

    A single host is not weighed: it has no weigher columns and a score of 0.
    """

    rows: IntArray
    scores: FloatArray
    order: IntArray
    weighers: tuple[WeigherColumn, ...] = ()

    def ranked_rows(self) -> IntArray:
        """Rows of the table, the best first."""
        return self.rows[self.order]

    def position_of(self, row: int) -> int | None:
        """Where `row` stands in `rows`, None if it did not pass."""
        position = int(np.searchsorted(self.rows, row))
        return position if position < len(self.rows) and self.rows[position] == row else None

    def rank_of(self, row: int) -> int | None:
        """Place of `row` in the order, from 1; None if it did not pass."""
        position = self.position_of(row)
        return None if position is None else int(np.flatnonzero(self.order == position)[0]) + 1


def score(count: int, weighers: tuple[WeigherColumn, ...]) -> FloatArray:
    """The sum over weighers for each host, always added in the same order so that a replay is equal to the bit."""
    total = np.zeros(count, dtype=np.float64)
    for weigher in weighers:
        total += weigher.weighted()
    return total


def best_first(scores: FloatArray) -> IntArray:
    """Positions by falling score; equals stay in the order of the table."""
    return np.argsort(-scores, kind="stable").astype(np.int64, copy=False)
