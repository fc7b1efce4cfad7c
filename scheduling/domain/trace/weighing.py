"""Weights as Nova computes them: raw values scaled over the hosts of this request, times a multiplier."""

from collections.abc import Iterable

import numpy as np

from scheduling.domain.columns import FloatArray, IntArray

# From this many times more hosts on than are wanted, choosing them costs less than sorting all.
_FEW = 8


def normalise(raw: FloatArray, *, floor: float | None = None, ceiling: float | None = None) -> FloatArray:
    """Scale to 0..1: (value - low) / (high - low).

    low and high are the extremes seen, unless the weigher declares its own, which then also clamp the values. Where
    low equals high all become 0. Source: Nova's weight normalisation.
    """
    low, high = _ends(raw, floor, ceiling)
    if low == high:
        return np.zeros(len(raw), dtype=np.float64)
    return _scaled(clamp(raw, floor=floor, ceiling=ceiling), low, high)


def _ends(raw: FloatArray, floor: float | None, ceiling: float | None) -> tuple[float, float]:
    """The extremes of the values once they are clamped."""
    if floor is not None:
        return floor, max(float(raw.max()), floor) if ceiling is None else ceiling
    if ceiling is not None:
        return min(float(raw.min()), ceiling), ceiling
    return float(raw.min()), float(raw.max())


def _scaled(values: FloatArray, low: float, high: float) -> FloatArray:
    moved = values - low if low else values
    return moved / (high - low)


def clamp(raw: FloatArray, *, floor: float | None = None, ceiling: float | None = None) -> FloatArray:
    """The values, none below a declared floor or above a declared ceiling."""
    values = raw if floor is None else np.maximum(raw, floor)
    return values if ceiling is None else np.minimum(values, ceiling)


class WeigherColumn:
    """What one weigher said about each ranked host. `multiplier` is one number, or one per host; both are finite.

    It is never changed. One that differs from another at a few positions only (`put`) keeps just these until somebody
    reads all of `raw`: mostly nobody does, and a batch of a thousand among 5,000 hosts has seven thousand of them.
    """

    __slots__ = ("_put", "_raw", "ceiling", "floor", "multiplier", "name")

    def __init__(
        self,
        name: str,
        raw: FloatArray,
        multiplier: float | FloatArray,
        floor: float | None = None,
        ceiling: float | None = None,
    ) -> None:
        self.name = name
        self.multiplier = multiplier
        self.floor = floor
        self.ceiling = ceiling
        self._raw: FloatArray | None = raw
        self._put: tuple[WeigherColumn, IntArray, FloatArray, FloatArray] | None = None

    def put(self, positions: IntArray, raw: FloatArray, was: FloatArray) -> "WeigherColumn":
        """The column with other raw values at these positions, where they are `was` now."""
        column = WeigherColumn(self.name, was, self.multiplier, self.floor, self.ceiling)
        column._raw, column._put = None, (self, positions, raw, was)
        return column

    def taken(self, positions: IntArray) -> "WeigherColumn":
        """The column of the hosts at these positions only."""
        multiplier = self.multiplier[positions] if isinstance(self.multiplier, np.ndarray) else self.multiplier
        return WeigherColumn(self.name, self.raw[positions], multiplier, self.floor, self.ceiling)

    @property
    def raw(self) -> FloatArray:
        """The values as the weigher gave them."""
        if self._raw is None:
            puts, column = [], self
            while column._raw is None and column._put is not None:
                puts.append(column._put)
                column = column._put[0]
            self._raw = column.raw.copy()
            for _, positions, raw, _ in reversed(puts):
                self._raw[positions] = raw
        return self._raw

    def changes(self, before: "WeigherColumn") -> tuple[IntArray, FloatArray]:
        """Positions of the raw values that are other, to the bit, than those of `before`, and these values."""
        if self._put is None or self._put[0] is not before:
            changed = np.flatnonzero(_bits(self.raw) != _bits(before.raw))
            return changed, self.raw[changed]
        _, positions, raw, was = self._put
        is_other = _bits(raw) != _bits(was)
        return positions[is_other], raw[is_other]

    def normalised(self) -> FloatArray:
        """The values from 0 to 1."""
        return normalise(self.raw, floor=self.floor, ceiling=self.ceiling)

    def weighted(self) -> FloatArray:
        """What this weigher adds to each score."""
        return self.multiplier * self.normalised()

    def addend(self) -> FloatArray | None:
        """The same; None where that is 0 for every host, which is so of most weighers of most requests."""
        if self.is_idle:
            return None
        low, high = self.ends(self.raw)
        return None if low == high else self.weighted_at(self.raw, (low, high))

    @property
    def is_idle(self) -> bool:
        """Whether its multiplier is 0 for every host."""
        return not isinstance(self.multiplier, np.ndarray) and not self.multiplier

    def ends(self, raw: FloatArray) -> tuple[float, float]:
        """The values that become 0 and 1 where these are the raw values of all hosts."""
        return _ends(raw, self.floor, self.ceiling)

    def weighted_at(self, raw: FloatArray, ends: tuple[float, float], positions: IntArray | None = None) -> FloatArray:
        """What it adds to the scores of hosts with these raw values; they are those at `positions` (None: all)."""
        multiplier = self.multiplier
        if positions is not None and isinstance(multiplier, np.ndarray):
            multiplier = multiplier[positions]
        return multiplier * _scaled(clamp(raw, floor=self.floor, ceiling=self.ceiling), *ends)


class Ranking:
    """Hosts that passed, with their scores. `rows` ascend; `order` are positions in `rows`, the best first.

    A single host is not weighed: it has no weigher columns and a score of 0. Without an order of its own it is that of
    the scores, and only as much of it is sorted as somebody asks for.
    """

    __slots__ = ("_order", "rows", "scores", "weighers")

    def __init__(
        self,
        rows: IntArray,
        scores: FloatArray,
        order: IntArray | None = None,
        weighers: tuple[WeigherColumn, ...] = (),
    ) -> None:
        self.rows = rows
        self.scores = scores
        self.weighers = weighers
        self._order = order

    @property
    def order(self) -> IntArray:
        """Positions of all hosts, the best first."""
        if self._order is None:
            self._order = best_first(self.scores)
        return self._order

    def leaders(self, count: int) -> IntArray:
        """Positions of the best `count` hosts, the best first."""
        return best_few(self.scores, count) if self._order is None else self._order[:count]

    def head(self) -> IntArray:
        """The part of the order that is not by score alone: a shuffle's, a choice's within the subset. Mostly empty."""
        if self._order is None:
            return np.empty(0, dtype=np.int64)
        moved = np.flatnonzero(self._order != best_first(self.scores))
        return self._order[: moved[-1] + 1] if len(moved) else self._order[:0]

    def ranked_rows(self) -> IntArray:
        """Rows of the table, the best first."""
        return self.rows[self.order]

    def position_of(self, row: int) -> int | None:
        """The position of `row` in `rows`; None if it did not pass."""
        position = int(np.searchsorted(self.rows, row))
        return position if position < len(self.rows) and self.rows[position] == row else None

    def rank_of(self, row: int) -> int | None:
        """Place of `row` in the order, from 1; None if it did not pass."""
        position = self.position_of(row)
        return None if position is None else int(np.flatnonzero(self.order == position)[0]) + 1


def _bits(raw: FloatArray) -> IntArray:
    """By its bits a number differs from every other, and minus zero from zero."""
    return np.ascontiguousarray(raw, dtype=np.float64).view(np.int64)


def score(count: int, weighers: tuple[WeigherColumn, ...]) -> FloatArray:
    """The sum over weighers for each host."""
    return total(count, (weigher.addend() for weigher in weighers))


def total(count: int, addends: Iterable[FloatArray | None]) -> FloatArray:
    """The sum of columns, always added in the same order so that a replay is equal to the bit; None adds nothing."""
    found = np.zeros(count, dtype=np.float64)
    for addend in addends:
        if addend is not None:
            found += addend
    return found


def best_first(scores: FloatArray) -> IntArray:
    """Positions by falling score; equals stay in the order of the table."""
    return np.argsort(-scores, kind="stable").astype(np.int64, copy=False)


def best_few(scores: FloatArray, count: int) -> IntArray:
    """The first `count` of `best_first`, without sorting the rest."""
    if count == 1:
        return np.array([scores.argmax()], dtype=np.int64)
    if count * _FEW > len(scores):
        return best_first(scores)[:count]
    lowest = np.partition(scores, len(scores) - count)[len(scores) - count]
    positions = np.flatnonzero(scores >= lowest)
    return positions[best_first(scores[positions])[:count]]
