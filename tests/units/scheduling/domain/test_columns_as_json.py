"""Columns and rows as JSON."""

import json

import numpy as np
import pytest

from scheduling.domain.trace.columns import (
    Array,
    column_from_json,
    column_to_json,
    is_row_in,
    rows_from_json,
    rows_to_json,
)


@pytest.mark.parametrize("rows", [[], [3], [0, 1, 2, 5], [1, 3, 4], [7], [8, 1000]])
def test_rows_come_back(rows: list[int]) -> None:
    text = rows_to_json(np.array(rows, dtype=np.int64))
    assert rows_from_json(text).tolist() == rows
    assert [row for row in range(1100) if is_row_in(text, row)] == rows


@pytest.mark.parametrize("values", [[1.0, 1.0], [1.0, 2.5, 1.0], [float(at) for at in range(100)], [0.1], []])
def test_columns_come_back(values: list[float]) -> None:
    column = np.array(values, dtype=np.float64)
    assert column_from_json(column_to_json(column)).tolist() == values


@pytest.mark.parametrize(
    ("column", "form"),
    [
        (np.full(1000, 4.0), {"all": 4.0, "rows": 1000}),
        (np.array([7, 3, 7, 7]), {"values": [7, 3], "letters": "0100"}),
        (np.array([0.0, -0.0]), {"values": [0.0, -0.0], "letters": "01"}),
        (np.array(["10.0.0.1", "10.0.0.2"]), {"list": ["10.0.0.1", "10.0.0.2"]}),
        (np.arange(5, 105) << 8, {"of": "i", "low": 1280, "width": 2, "bytes": None}),
        (np.arange(100) / 3, {"of": "bits", "low": None, "width": 8, "bytes": None}),
        (np.arange(300.0), {"of": "f", "low": 0, "width": 2, "bytes": None}),
        (np.array([np.nan, np.inf]), {"of": "bits", "low": None, "width": None, "bytes": None}),
    ],
)
def test_form_follows_what_the_column_is_like(column: Array, form: dict[str, object]) -> None:
    written = column_to_json(column)
    assert written.keys() == form.keys()
    assert {name: value for name, value in written.items() if form[name] is not None} == {
        name: value for name, value in form.items() if value is not None
    }
    back = column_from_json(json.loads(json.dumps(written)))
    assert back.dtype == column.dtype
    assert back.tobytes() == column.tobytes()


def test_columns_that_group_alike_have_the_same_letters() -> None:
    one, other = (column_to_json(np.array(values)) for values in ([9.0, 1.0, 9.0], [2.0, 8.0, 2.0]))
    assert one["letters"] == other["letters"]
