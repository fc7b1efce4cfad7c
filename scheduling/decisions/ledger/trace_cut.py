"""A trace in less room than it needs: the best of each ranking, and ranges instead of each host's number.

For fleets so mixed that values hardly repeat. Who was refused by what always stays; the rest is had again by a replay
on the decision's snapshot.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scheduling.decisions.ledger.trace_content import names_of, trace_content, with_rounds
from scheduling.domain.columns import IntArray
from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.trace.codec import multiplier_from_json, multiplier_to_json, trace_from_dict
from scheduling.domain.trace.columns import column_from_json, column_to_json
from scheduling.domain.trace.trace import Trace
from scheduling.domain.trace.weighing import Ranking, WeigherColumn, clamp, score

TOP_ROWS = (256, 64, 16, 4)
"""How many hosts of each ranking to keep, from the most to the least that is tried."""


def cut_content(trace: Trace, top_rows: int) -> dict[str, Any]:
    """The trace with the best `top_rows` hosts of each ranking, without names and times."""
    rounds = trace.all_rounds
    bare = [
        replace(each, ranking=None, refusals=tuple(_in_short(group, top_rows) for group in each.refusals))
        for each in rounds
    ]
    rankings = [None if each.ranking is None else _ranking_to_dict(each.ranking, top_rows) for each in rounds]
    return {**trace_content(with_rounds(trace, bare)), "rankings": rankings}


def trace_of_cut(data: Mapping[str, Any]) -> tuple[Trace, list[int]]:
    """The trace as far as it was kept, and how many hosts each of its rankings had."""
    bare, rankings = trace_from_dict(data), data["rankings"]
    rounds = [
        each if one is None else replace(each, ranking=_ranking_from_dict(one))
        for each, one in zip(bare.all_rounds, rankings, strict=True)
    ]
    return with_rounds(bare, rounds), [0 if one is None else one["ranked"] for one in rankings]


def as_cut(trace: Trace, top_rows: int) -> Trace:
    """The trace as one that was cut to `top_rows` would be read back, without times."""
    return trace_of_cut({**cut_content(trace, top_rows), **names_of(trace.hosts, trace.nodes)})[0]


def _in_short(group: RefusalGroup, top_rows: int) -> RefusalGroup:
    """Values of more hosts than `top_rows` become their range: 'has 100 to 1900'."""
    if len(group) <= top_rows:
        return group
    available = group.refusal.available
    if group.available is not None:
        values = group.available.tolist()
        low, high = min(values), max(values)
        numbers = group.available.dtype.kind in "if"
        available = low if low == high else f"{low:g} to {high:g}" if numbers else f"{low} to {high}"
    return RefusalGroup(replace(group.refusal, available=available), group.rows)


def _ranking_to_dict(ranking: Ranking, top_rows: int) -> dict[str, Any]:
    at: IntArray = np.sort(ranking.order[:top_rows])
    return {
        "ranked": len(ranking.rows),
        "rows": ranking.rows[at].tolist(),
        "order": np.searchsorted(at, ranking.order[:top_rows]).tolist(),
        "weighers": [_weigher_to_dict(each, at) for each in ranking.weighers],
    }


def _weigher_to_dict(each: WeigherColumn, at: IntArray) -> dict[str, Any]:
    """The extremes of all hosts stand as bounds, so that normalised values and scores stay the same to the bit."""
    seen = clamp(each.raw, floor=each.floor, ceiling=each.ceiling)
    low = float(seen.min()) if each.floor is None else each.floor
    high = float(seen.max()) if each.ceiling is None else each.ceiling
    multiplier = each.multiplier[at] if isinstance(each.multiplier, np.ndarray) else each.multiplier
    return {
        "name": each.name,
        "raw": column_to_json(each.raw[at]),
        "multiplier": multiplier_to_json(multiplier),
        "bounds": [low, high],
    }


def _ranking_from_dict(data: Mapping[str, Any]) -> Ranking:
    weighers = tuple(
        WeigherColumn(
            each["name"], column_from_json(each["raw"]), multiplier_from_json(each["multiplier"]), *each["bounds"]
        )
        for each in data["weighers"]
    )
    rows, order = (np.array(data[name], dtype=np.int64) for name in ("rows", "order"))
    return Ranking(rows, score(len(rows), weighers), order, weighers)
