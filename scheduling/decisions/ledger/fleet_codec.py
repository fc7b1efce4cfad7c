"""Columns of a fleet as bytes: whole, or as what changed since a base.

One placed instance changes a few cells: 200 bytes and 0.2 ms of CPU at 1,000 hosts, where the whole fleet takes 37 kB
and 7 ms.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from controlplane.kernel.texts import phrase as _
from scheduling.decisions.ledger.content import OtherVersion, json_bytes
from scheduling.decisions.ledger.fleet_columns import Column, Columns, bits_of, same_column
from scheduling.decisions.ledger.values import plain, restored
from scheduling.domain.columns import IntArray
from scheduling.domain.trace.columns import column_from_json, column_to_json

FORMAT = 1
# A changed column is written as its changed rows when these are fewer than one in four.
_SPARSE = 4


def whole_to_bytes(columns: Columns) -> bytes:
    """All columns."""
    return json_bytes({"format": FORMAT, "columns": {name: _to_json(column) for name, column in columns.items()}})


def whole_from_bytes(content: bytes) -> dict[str, Column]:
    """The inverse of `whole_to_bytes`. Raises OtherVersion."""
    return {name: _from_json(data) for name, data in _data(content)["columns"].items()}


def changes_to_bytes(columns: Columns, base: Columns) -> bytes:
    """What makes `columns` of `base`. Without any change it is as short as can be."""
    changed = {
        name: _change(column, base.get(name))
        for name, column in columns.items()
        if not same_column(column, base.get(name))
    }
    gone = [name for name in base if name not in columns]
    return json_bytes({"format": FORMAT, "changed": changed, "gone": gone})


def changes_from_bytes(content: bytes, base: Columns) -> dict[str, Column]:
    """The columns that `changes_to_bytes` was given. Raises OtherVersion."""
    head = _data(content)
    gone = set(head["gone"])
    columns: dict[str, Column] = {name: column for name, column in base.items() if name not in gone}
    for name, data in head["changed"].items():
        made = _from_json(data)
        columns[name] = made if "at" not in data else _changed(base[name], data["at"], made)
    return columns


def _data(content: bytes) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(content)
    if data.get("format") != FORMAT:
        raise OtherVersion(_("This snapshot was written by another version, in a form that this version cannot read."))
    return data


def _to_json(column: Column) -> dict[str, Any]:
    if isinstance(column, np.ndarray):
        return {"array": column_to_json(column)}
    return {"values": [plain(each) for each in column]}


def _from_json(data: Mapping[str, Any]) -> Column:
    return column_from_json(data["array"]) if "array" in data else tuple(restored(each) for each in data["values"])


def _change(column: Column, base: Column | None) -> dict[str, Any]:
    rows = _changed_rows(column, base)
    if rows is None or len(rows) * _SPARSE >= len(column):
        return _to_json(column)
    at: list[int] = rows.tolist()
    return {"at": at, **_to_json(column[rows] if isinstance(column, np.ndarray) else tuple(column[row] for row in at))}


def _changed_rows(column: Column, base: Column | None) -> IntArray | None:
    """None where row by row makes no sense."""
    if base is None or type(base) is not type(column) or len(base) != len(column):
        return None
    if isinstance(column, np.ndarray) and isinstance(base, np.ndarray):
        return np.flatnonzero(bits_of(column) != bits_of(base)) if column.dtype == base.dtype else None
    pairs = enumerate(zip(column, base, strict=True))
    return np.array([at for at, (one, other) in pairs if one is not other and one != other], dtype=np.int64)


def _changed(base: Column, rows: list[int], values: Column) -> Column:
    if isinstance(base, np.ndarray):
        column = base.copy()
        column[rows] = values
        column.flags.writeable = False
        return column
    cells = list(base)
    for row, value in zip(rows, values, strict=True):
        cells[row] = value
    return tuple(cells)
