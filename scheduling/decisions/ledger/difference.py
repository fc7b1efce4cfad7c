"""Where two traces part."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from scheduling.decisions.ledger.trace_content import with_rounds
from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.trace.codec import trace_to_dict
from scheduling.domain.trace.columns import Array
from scheduling.domain.trace.trace import Trace
from scheduling.domain.trace.weighing import Ranking

_ORDER = ("host_count", "hosts", "nodes", "resources", "outcome", "selections", "rounds")
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """The first place that is not alike: a path into the trace, and what stands there on either side."""

    path: str
    stored: str
    replayed: str


def first_difference(stored: Trace, replayed: Trace) -> TraceDifference | None:
    """None where both decide alike to the bit; times are not compared."""
    return _differs("", _data(stored), _data(replayed))


def _data(trace: Trace) -> dict[str, Any]:
    """Columns are compared row by row, for the stored ranking may hold the best hosts alone."""
    rounds = trace.all_rounds
    bare = [replace(each, ranking=None, refusals=()) for each in rounds]
    data = trace_to_dict(with_rounds(trace, bare), with_times=False)
    known = {name: data.pop(name) for name in _ORDER if name in data}
    extra = [] if trace.alternates_round is None else [data["alternates_round"]]
    for item, each in zip([*known["rounds"], *extra], rounds, strict=True):
        item["refusals"] = [_refusal(group) for group in each.refusals]
    rankings = [_ranking(each.ranking) for each in rounds]
    return {"host_count": trace.host_count, **known, "rankings": rankings, **data}


def _refusal(group: RefusalGroup) -> dict[str, Any]:
    columns = {"available": group.available, "total": group.total, "ratio": group.ratio}
    own = {name: _many(column) for name, column in columns.items() if column is not None}
    return {**asdict(group.refusal), **own, "hosts": group.rows.tolist()}


def _ranking(ranking: Ranking | None) -> Any:
    if ranking is None:
        return None
    weighers = {
        each.name: {"raw": each.raw.tolist(), "multiplier": _many(np.asarray(each.multiplier, dtype=np.float64))}
        for each in ranking.weighers
    }
    names = ("rows", "scores", "order")
    return {**{name: getattr(ranking, name).tolist() for name in names}, "weighers": weighers}


def _many(column: Array) -> Any:
    """One value where all hosts have the same, for so it is stored."""
    values = np.atleast_1d(column).tolist()
    return values[0] if values and all(value == values[0] for value in values) else values


def _differs(path: str, one: Any, other: Any) -> TraceDifference | None:
    if type(one) is type(other) and isinstance(one, dict) and one.keys() == other.keys():
        pairs = ((f"{path}.{name}" if path else name, one[name], other[name]) for name in one)
        return next((found for each in pairs if (found := _differs(*each))), None)
    if type(one) is type(other) and isinstance(one, list) and len(one) == len(other):
        items = ((f"{path}[{at}]", *each) for at, each in enumerate(zip(one, other, strict=True)))
        return next((found for each in items if (found := _differs(*each))), None)
    if type(one) is type(other) and one == other:
        return None
    return TraceDifference(path or "trace", _text(one), _text(other))


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
