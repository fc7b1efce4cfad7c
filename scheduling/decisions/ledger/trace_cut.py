"""A trace in less room than it needs: the best of each ranking, and ranges instead of each host's number.

For fleets so mixed that values hardly repeat. Who was refused by what always stays; the rest is had again by a replay
on the decision's snapshot.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal
from scheduling.decisions.ledger.container import ChunkReader, ChunkWriter, reader_of
from scheduling.decisions.ledger.trace_pack import names_of, packed, times_of, unpacked, with_times, without_times
from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.trace.codec import trace_from_dict, trace_to_dict
from scheduling.domain.trace.trace import Round, Trace
from scheduling.domain.trace.weighing import Ranking, WeigherColumn, clamp

TOP_ROWS = (256, 64, 16, 4)
"""How many hosts of each ranking to keep, from the most to the least that is tried."""


def cut_content(trace: Trace, top_rows: int) -> bytes:
    """The trace with the best `top_rows` hosts of each ranking, without names and times."""
    writer = ChunkWriter()
    rounds = _rounds(trace)
    bare = _with_rounds(trace, [_bare(each, top_rows) for each in rounds])
    data = trace_to_dict(replace(without_times(bare), hosts=(), nodes=()))
    rankings = [None if each.ranking is None else _ranking_data(writer, each.ranking, top_rows) for each in rounds]
    return writer.content({"trace": packed(writer, data), "rankings": rankings})


def trace_of_cut(content: bytes, *, names: Mapping[str, Any], times: list[list[int]]) -> tuple[Trace, list[int]]:
    """The trace as far as it was kept, and how many hosts each of its rankings had."""
    reader = reader_of(content)
    bare = trace_from_dict({**unpacked(reader, reader.head["trace"]), **names})
    data = reader.head["rankings"]
    rounds = [
        each if one is None else replace(each, ranking=_ranking(reader, one))
        for each, one in zip(_rounds(bare), data, strict=True)
    ]
    return with_times(_with_rounds(bare, rounds), times), [0 if one is None else one["ranked"] for one in data]


def as_cut(trace: Trace, top_rows: int) -> Trace:
    """The trace as one that was cut to `top_rows` would be read back."""
    names = names_of(trace.hosts, trace.nodes)
    return trace_of_cut(cut_content(trace, top_rows), names=names, times=times_of(trace))[0]


def _rounds(trace: Trace) -> list[Round]:
    return [*trace.rounds, *([] if trace.alternates_round is None else [trace.alternates_round])]


def _with_rounds(trace: Trace, rounds: list[Round]) -> Trace:
    if trace.alternates_round is None:
        return replace(trace, rounds=tuple(rounds))
    return replace(trace, rounds=tuple(rounds[:-1]), alternates_round=rounds[-1])


def _bare(each: Round, top_rows: int) -> Round:
    return replace(each, ranking=None, refusals=tuple(_bare_group(group, top_rows) for group in each.refusals))


def _bare_group(group: RefusalGroup, top_rows: int) -> RefusalGroup:
    """Numbers of more hosts than `top_rows` become their range: 'has 100 to 1900'."""
    if len(group) <= top_rows:
        return group
    available = group.refusal.available if group.available is None else _range(group.available)
    refusal: Refusal = replace(group.refusal, available=available)
    return RefusalGroup(refusal, group.rows)


def _range(column: Any) -> str | int | float:
    low, high = column.min().item(), column.max().item()
    return low if low == high else f"{low:g} to {high:g}"


def _ranking_data(writer: ChunkWriter, ranking: Ranking, top_rows: int) -> dict[str, Any]:
    at: IntArray = np.sort(ranking.order[:top_rows])
    order = np.searchsorted(at, ranking.order[:top_rows])
    return {
        "ranked": len(ranking.rows),
        "rows": writer.array(ranking.rows[at]),
        "scores": writer.array(ranking.scores[at]),
        "order": writer.array(order),
        "weighers": [_weigher_data(writer, each, at) for each in ranking.weighers],
    }


def _weigher_data(writer: ChunkWriter, each: WeigherColumn, at: IntArray) -> dict[str, Any]:
    """The extremes of all hosts stand as bounds, so that normalised values stay the same to the bit."""
    seen = clamp(each.raw, floor=each.floor, ceiling=each.ceiling)
    low = float(seen.min()) if each.floor is None else each.floor
    high = float(seen.max()) if each.ceiling is None else each.ceiling
    many = isinstance(each.multiplier, np.ndarray)
    return {
        "name": each.name,
        "raw": writer.array(each.raw[at]),
        "multiplier": writer.array(each.multiplier[at]) if many else each.multiplier,  # type: ignore[index]
        "bounds": [low, high],
    }


def _ranking(reader: ChunkReader, data: Mapping[str, Any]) -> Ranking:
    weighers = tuple(_weigher(reader, each) for each in data["weighers"])
    rows, scores, order = (reader.array(data[name]) for name in ("rows", "scores", "order"))
    return Ranking(rows, scores, order, weighers)


def _weigher(reader: ChunkReader, data: Mapping[str, Any]) -> WeigherColumn:
    given: Any = data["multiplier"]
    multiplier: float | FloatArray = reader.array(given) if isinstance(given, list) else given
    return WeigherColumn(data["name"], reader.array(data["raw"]), multiplier, *data["bounds"])
