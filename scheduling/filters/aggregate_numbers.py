"""Numbers that aggregates override: the least of the values that a host's aggregates give."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.hosts.host_rows import AggregateRow
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView

Numbers = npt.NDArray[Any]
Read = Callable[[str], float]


def finite(text: str) -> float:
    """The number that `text` is. Raises ValueError for any other text, and for one that is not finite."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not finite")
    return number


def overridden(hosts: Hosts, spec: RequestSpecView, key: str, default: int | Numbers, read: Read) -> Numbers:
    """`default` (one for all, or beside these hosts) unless a host's aggregates give numbers for `key`: their least.

    One value that `read` does not take, and the host keeps the default, as in Nova; the trace has a remark then.
    """
    usual = np.broadcast_to(np.asarray(default), (len(hosts),))
    aggregates = hosts.table.aggregates
    if not any(key in each.metadata for each in aggregates):
        return usual
    sets = hosts.table.aggregate_sets
    minimum = [_min_of([aggregates[at] for at in members], key, read, spec) for members in sets.values]
    given: FloatArray = np.array(minimum, dtype=np.float64)[hosts.of(sets.codes)]
    return np.where(np.isnan(given), usual, given)


def refuse_at_limit(hosts: Hosts, held: IntArray, maximum: Numbers, reason: RefusalReason) -> list[RefusalGroup]:
    """Hosts that hold as many as their limit or more; a group for each limit, which is its `wanted`."""
    full = held >= maximum
    groups: list[RefusalGroup] = []
    for limit in np.unique(maximum[full]).tolist():
        groups += hosts.refuse(np.logical_and(full, maximum == limit), reason, wanted=int(limit), available=held)
    return groups


def _min_of(aggregates: list[AggregateRow], key: str, read: Read, spec: RequestSpecView) -> float:
    """NaN where no aggregate has the key, or one has something else than a number."""
    texts = [(each.name, str(each.metadata[key])) for each in aggregates if key in each.metadata]
    minimum = math.inf
    for name, text in texts:
        try:
            minimum = min(minimum, read(text))
        except ValueError:
            spec.note(f"{key} of aggregate {name} is no number that can be used: {text!r}; the default counts")
            return math.nan
    return minimum if texts else math.nan
