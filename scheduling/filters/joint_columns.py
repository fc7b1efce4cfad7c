"""Several columns of repeated values seen as one, so that a rule is asked once for each combination there is."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from scheduling.domain.columns import FloatArray, IntArray, Interned
from scheduling.domain.hosts.host_slice import Hosts

V = TypeVar("V")


def joint(columns: Sequence[Interned[Any]]) -> Interned[tuple[Any, ...]]:
    """The column of tuples of all columns' values. What is one value everywhere costs nothing."""
    codes: IntArray = np.zeros(len(columns[0].codes), dtype=np.int64)
    for column in columns:
        if len(column.values) > 1:
            codes = codes * len(column.values) + column.codes
    first, inverse = np.unique(codes, return_index=True, return_inverse=True)[1:]
    return Interned(tuple(tuple(column[row] for column in columns) for row in first.tolist()), inverse)


def beside(hosts: Hosts, column: Interned[V]) -> Interned[V]:
    """A table's column at the rows of `hosts`."""
    return Interned(column.values, hosts.of(column.codes))


def constant(value: V, count: int) -> Interned[V]:
    """A column of one value."""
    return Interned((value,), np.zeros(count, dtype=np.int64))


def interned_floats(column: FloatArray) -> Interned[float]:
    """A column of numbers that repeat; overcommit mostly is one number for the whole fleet."""
    if len(column) and (column == column[0]).all():
        return constant(float(column[0]), len(column))
    values, codes = np.unique(column, return_inverse=True)
    return Interned(tuple(values.tolist()), codes)
