"""A trace as a small blob: names of hosts apart, long columns as bytes, exact to the bit.

Times are no part of the content: two runs that decide alike have the same content, and so the same digest.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scheduling.decisions.ledger.container import ChunkReader, ChunkWriter, reader_of
from scheduling.domain.trace.codec import trace_from_dict, trace_to_dict
from scheduling.domain.trace.compact import (
    codes_to_letters,
    letters_to_codes,
    names_to_runs,
    number_to_json,
    rows_from_text,
    rows_to_text,
)
from scheduling.domain.trace.trace import Round, Stage, Trace

_LONG_TEXT = 96
_LONG_LIST = 16
_REFERENCE = "@"


def trace_content(trace: Trace) -> bytes:
    """The trace without names and times, not compressed. Equal decisions give equal bytes."""
    writer = ChunkWriter()
    data = trace_to_dict(replace(without_times(trace), hosts=(), nodes=()))
    return writer.content(packed(writer, data))


def trace_of_content(content: bytes, *, names: Mapping[str, Any], times: list[list[int]]) -> Trace:
    """The inverse of `trace_content`, with the names (as `names_of` gave them) and times that were kept apart."""
    reader = reader_of(content)
    return with_times(trace_from_dict({**unpacked(reader, reader.head), **names}), times)


def names_of(hosts: tuple[str, ...], nodes: tuple[str, ...]) -> dict[str, Any]:
    """Names of hosts and nodes as traces are written: the same for all decisions about the same hosts."""
    return {"hosts": names_to_runs(hosts), "nodes": None if nodes == hosts else names_to_runs(nodes)}


def times_of(trace: Trace) -> list[list[int]]:
    """Microseconds of the stages of each round, the weighing last."""
    return [[*(stage.micros for stage in each.stages), each.weigh_micros] for each in _rounds(trace)]


def without_times(trace: Trace) -> Trace:
    """The same decision as if it took no time."""
    return with_times(trace, [[0] * (len(each.stages) + 1) for each in _rounds(trace)])


def with_times(trace: Trace, times: list[list[int]]) -> Trace:
    """The trace with these times, as `times_of` gave them."""
    timed = [_timed(each, micros) for each, micros in zip(_rounds(trace), times, strict=True)]
    extra = timed.pop() if trace.alternates_round is not None else None
    return replace(trace, rounds=tuple(timed), alternates_round=extra)


def _rounds(trace: Trace) -> list[Round]:
    return [*trace.rounds, *([] if trace.alternates_round is None else [trace.alternates_round])]


def _timed(each: Round, micros: list[int]) -> Round:
    stages = tuple(
        Stage(stage.name, stage.hosts_in, stage.hosts_out, spent)
        for stage, spent in zip(each.stages, micros, strict=False)
    )
    return replace(each, stages=stages, weigh_micros=micros[-1])


def packed(writer: ChunkWriter, data: Any) -> Any:
    """Ranges of rows become bitmaps, letters become codes, long lists of numbers become columns."""
    if isinstance(data, dict):
        return {name: _packed_item(writer, name, each) for name, each in data.items()}
    if isinstance(data, list | tuple):
        if len(data) >= _LONG_LIST and (column := _column(data)) is not None:
            return {_REFERENCE: "list", "column": writer.array(column)}
        return [packed(writer, each) for each in data]
    return data


def _packed_item(writer: ChunkWriter, name: str, value: Any) -> Any:
    if name == "hosts" and isinstance(value, str) and len(value) >= _LONG_TEXT:
        return {_REFERENCE: "rows", "column": writer.array(_marks(rows_from_text(value)))}
    if name == "letters" and len(value) >= _LONG_TEXT:
        codes = letters_to_codes(value)
        return {_REFERENCE: "letters", "column": writer.array(codes)}
    if name == "multiplier" and isinstance(value, float):
        return number_to_json(value)  # as where all hosts happen to have the same
    return packed(writer, value)


def _marks(rows: Any) -> Any:
    marks = np.zeros(int(rows[-1]) + 1, dtype=np.bool_)
    marks[rows] = True
    return marks


def _column(data: Any) -> Any:
    """The numbers as a column; None where they are not all of one kind."""
    kinds = {type(each) for each in data}
    if kinds == {int} and all(-(2**63) <= each < 2**63 for each in data):
        return np.array(data, dtype=np.int64)
    return np.array(data, dtype=np.float64) if kinds == {float} else None


def unpacked(reader: ChunkReader, data: Any) -> Any:
    """The inverse of `packed`."""
    if isinstance(data, list):
        return [unpacked(reader, each) for each in data]
    if not isinstance(data, dict):
        return data
    kind = data.get(_REFERENCE)
    if kind is None:
        return {name: unpacked(reader, each) for name, each in data.items()}
    column = reader.array(data["column"])
    if kind == "rows":
        return rows_to_text(np.flatnonzero(column))
    if kind == "letters":
        return codes_to_letters(column)
    return column.tolist()
