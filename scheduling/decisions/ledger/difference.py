"""Where two traces part."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scheduling.decisions.ledger.trace_pack import without_times
from scheduling.domain.columns import FloatArray
from scheduling.domain.trace.codec import trace_to_dict
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
    """Rankings are compared row by row, for the stored one may hold the best hosts alone."""
    rounds = tuple(replace(each, ranking=None) for each in trace.rounds)
    extra = None if trace.alternates_round is None else replace(trace.alternates_round, ranking=None)
    data = trace_to_dict(without_times(replace(trace, rounds=rounds, alternates_round=extra)))
    known = {name: data.pop(name) for name in _ORDER if name in data}
    rankings = [_ranking(each.ranking) for each in (*trace.rounds, trace.alternates_round) if each is not None]
    return {"host_count": trace.host_count, **known, "rankings": rankings, **data}


def _ranking(ranking: Ranking | None) -> Any:
    if ranking is None:
        return None
    weighers = {
        each.name: {"raw": each.raw.tolist(), "multiplier": _many(each.multiplier)} for each in ranking.weighers
    }
    names = ("rows", "scores", "order")
    return {**{name: getattr(ranking, name).tolist() for name in names}, "weighers": weighers}


def _many(multiplier: float | FloatArray) -> Any:
    """One number where all hosts have the same, for so it is stored."""
    if not isinstance(multiplier, np.ndarray):
        return float(multiplier)
    values = multiplier.tolist()
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
