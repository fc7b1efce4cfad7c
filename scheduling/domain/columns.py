"""Building blocks of the host table: numpy columns, columns of repeated values, inventories by class."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

V = TypeVar("V")
Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Interned(Generic[V]):
    """A column whose values repeat over the fleet: each distinct value once, and a code for each row.

    A rule is asked once for each distinct value and its answers are spread over the rows.
    """

    values: tuple[V, ...]
    codes: IntArray

    def __getitem__(self, row: int) -> V:
        value: V = self.values[int(self.codes[row])]
        return value


def intern(values: Sequence[V], key: Callable[[V], Hashable] | None = None) -> Interned[V]:
    """The column of `values`. Values with the same `key` count as one; without it they are hashable themselves."""
    positions: dict[Hashable, int] = {}
    distinct: list[V] = []
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        name = value if key is None else key(value)
        code = positions.setdefault(name, len(distinct))
        if code == len(distinct):
            distinct.append(value)
        codes[row] = code
    return Interned(tuple(distinct), codes)


def intern_json(values: Sequence[V]) -> Interned[V]:
    """As `intern`, for JSON-like values; the same object in several rows is read once."""
    keys: dict[int, str] = {}

    def key(value: V) -> str:
        found = keys.get(id(value))
        if found is None:
            found = keys[id(value)] = json.dumps(value, sort_keys=True, default=str)
        return found

    return intern(values, key)


@dataclass(frozen=True, slots=True, eq=False)
class InventoryColumns:
    """One resource class over all hosts, as Placement has it. A host without this class has total 0.

    capacity = floor((total - reserved) * allocation_ratio), the bound of the claim.
    """

    total: IntArray
    reserved: IntArray
    allocation_ratio: FloatArray
    used: IntArray
    min_unit: IntArray
    max_unit: IntArray
    step_size: IntArray
    capacity: IntArray

    @property
    def free(self) -> IntArray:
        """What may still be promised; negative where a host is over its bound already."""
        return self.capacity - self.used

    def gives(self, row: int, amount: int) -> bool:
        """Whether one allocation may take so much there: the room, and min_unit, max_unit and step_size."""
        return bool(
            amount <= self.capacity[row] - self.used[row]
            and self.min_unit[row] <= amount <= self.max_unit[row]
            and amount % self.step_size[row] == 0
        )

    def consumed(self, row: int, amount: int) -> "InventoryColumns":
        """A copy with `amount` more in use at `row`; everything else is shared."""
        return replace(self, used=plus(self.used, row, amount))


def plus(column: IntArray, row: int, amount: int) -> IntArray:
    """A copy of `column` with `amount` added at `row`."""
    changed = column.copy()
    changed[row] += amount
    return changed


def frozen(column: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The column, made read-only: the table is shared, nobody may write to it."""
    column.flags.writeable = False
    return column


def int_column(values: Iterable[int], count: int) -> IntArray:
    """A read-only column of whole numbers."""
    return frozen(np.fromiter(values, dtype=np.int64, count=count))


def float_column(values: Iterable[float], count: int) -> FloatArray:
    """A read-only column of numbers."""
    return frozen(np.fromiter(values, dtype=np.float64, count=count))


def bool_column(values: Iterable[bool], count: int) -> BoolArray:
    """A read-only column of truth values."""
    return frozen(np.fromiter(values, dtype=np.bool_, count=count))
