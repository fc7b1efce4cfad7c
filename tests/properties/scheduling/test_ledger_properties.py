"""What the ledger writes it reads back, to the bit."""

import json
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduling.decisions.ledger.chain import SnapshotChain, columns_of_chain
from scheduling.decisions.ledger.content import compressed, uncompressed
from scheduling.decisions.ledger.difference import first_difference
from scheduling.decisions.ledger.fleet_columns import same_column, table_from_columns, table_to_columns
from scheduling.decisions.ledger.record import DecisionRecord, record_of_blob, record_to_blob, trace_digest
from scheduling.decisions.ledger.trace_content import names_of
from scheduling.decisions.ledger.values import plain, restored
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.columns import (
    Array,
    column_from_json,
    column_to_json,
    is_row_in,
    rows_from_json,
    rows_to_json,
)
from scheduling.engine import (
    DEFAULT_POLICY,
    AggregateRow,
    HostRow,
    ScheduleRequest,
    host_table_from_rows,
    schedule,
    trace_to_dict,
)
from tests.properties.scheduling.fleets import AGGREGATES, host_rows, requests

INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
FLOATS = st.floats(width=64) | st.integers(-5, 5).map(float) | st.just(-0.0)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.uuids(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
        | st.frozensets(st.text(max_size=4) | st.integers(), max_size=4)
    ),
    max_leaves=12,
)


def written(column: Array) -> Array:
    """The column read back from JSON text."""
    return column_from_json(json.loads(json.dumps(column_to_json(column))))


@given(st.lists(INTS, max_size=300))
def test_whole_numbers_come_back(values: list[int]) -> None:
    column = np.array(values, dtype=np.int64)
    back = written(column)
    assert back.dtype == np.int64
    assert back.tolist() == values


@given(st.lists(FLOATS, max_size=300))
def test_floats_come_back_to_the_bit(values: list[float]) -> None:
    column = np.array(values, dtype=np.float64)
    back = written(column)
    assert back.dtype == np.float64
    assert back.view(np.int64).tolist() == column.view(np.int64).tolist()


@given(st.lists(st.booleans(), max_size=50))
def test_truth_values_come_back(values: list[bool]) -> None:
    assert written(np.array(values, dtype=np.bool_)).tolist() == values


@given(VALUES)
def test_values_come_back_with_their_types(value: object) -> None:
    back = restored(plain(value))
    assert repr(back) == repr(value) or back == value
    assert type(back) is type(value)


@given(host_rows(), AGGREGATES)
def test_host_table_comes_back_equal(rows: list[HostRow], sets: list[AggregateRow]) -> None:
    table = host_table_from_rows(rows, sets)
    columns = table_to_columns(table)
    chain = SnapshotChain(lambda: 0.0)
    (entry,) = chain.entries(columns, host_count=len(table), bound=2048)
    back = columns_of_chain([entry.content])
    assert back.keys() == columns.keys()
    assert all(same_column(column, back[name]) for name, column in columns.items())
    again = table_from_columns(back)
    assert (again.rows_by_host, again.rows_by_node) == (table.rows_by_host, table.rows_by_node)
    assert (again.rows_by_instance, again.row_by_uuid) == (table.rows_by_instance, table.row_by_uuid)


@given(host_rows(), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 99)), max_size=6), st.sampled_from([1, 9999]))
def test_changed_fleet_comes_back_whatever_the_bound(
    rows: list[HostRow], edits: list[tuple[int, int]], bound: int
) -> None:
    chain = SnapshotChain(lambda: 0.0)
    for at, value in [(0, 0), *edits]:
        row = rows[at % len(rows)]
        inventories = {name: replace(one, used=value) for name, one in row.inventories.items()}
        rows = [replace(one, inventories=inventories, stats={"n": value}) if one is row else one for one in rows]
        columns = table_to_columns(host_table_from_rows(rows))
        entries = chain.entries(columns, host_count=len(rows), bound=bound)
        assert [entry.base for entry in entries] == ["", *(entry.digest for entry in entries[:-1])]
        back = columns_of_chain([entry.content for entry in entries])
        assert all(same_column(column, back[name]) for name, column in columns.items())


@given(host_rows(), AGGREGATES, requests(), st.sampled_from([100, 10**6]))
def test_decision_comes_back_whole_or_says_that_it_was_cut(
    rows: list[HostRow], sets: list[AggregateRow], request: ScheduleRequest, bound: int
) -> None:
    trace = schedule(ScheduleCall(host_table_from_rows(rows, sets), request, DEFAULT_POLICY, 7))
    record = DecisionRecord(request={}, policy={}, trace=trace)
    blob, digest = record_to_blob(record, bound=bound)
    back = record_of_blob(blob, names=names_of(trace.hosts, trace.nodes))
    assert digest == trace_digest(trace)
    assert back.trace is not None
    if back.top_rows is None:
        assert trace_to_dict(back.trace) == trace_to_dict(trace)
        assert first_difference(trace, back.trace) is None
        assert trace_digest(back.trace) == digest
    else:
        assert dict(back.trace.reason_counts()) == dict(trace.reason_counts())
        assert back.trace.selections == trace.selections


@given(st.binary(max_size=3000), st.none() | st.integers(1, 3000))
def test_compressed_bytes_come_back(content: bytes, aim: int | None) -> None:
    assert uncompressed(compressed(content, aim=aim)) == content


@given(st.sets(st.integers(0, 500)))
def test_rows_come_back_and_each_is_found(rows: set[int]) -> None:
    text = rows_to_json(np.array(sorted(rows), dtype=np.int64))
    assert rows_from_json(text).tolist() == sorted(rows)
    assert {row for row in range(600) if is_row_in(text, row)} == rows
