"""Columns of a fleet as bytes: whole, or as what changed since a base."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduling.decisions.ledger.container import ChunkReader, ChunkWriter, reader_of
from scheduling.decisions.ledger.fleet_columns import Column, Columns, bits_of, same_column
from scheduling.decisions.ledger.values import plain, restored

# A changed column is written as its changed rows when these are fewer than one in four.
_SPARSE = 4


def whole_to_bytes(columns: Columns) -> bytes:
    """All columns."""
    writer = ChunkWriter()
    return writer.content({"columns": {name: _column(writer, column) for name, column in columns.items()}})


def whole_from_bytes(content: bytes) -> dict[str, Column]:
    """The inverse of `whole_to_bytes`."""
    reader = reader_of(content)
    return {name: _read(reader, data) for name, data in reader.head["columns"].items()}


def changes_to_bytes(columns: Columns, base: Columns) -> bytes:
    """What makes `columns` of `base`. Without any change it is as short as can be."""
    writer = ChunkWriter()
    changed = {
        name: _change(writer, column, base.get(name))
        for name, column in columns.items()
        if not same_column(column, base.get(name))
    }
    gone = [name for name in base if name not in columns]
    return writer.content({"changed": changed, "gone": gone})


def changes_from_bytes(content: bytes, base: Columns) -> dict[str, Column]:
    """The columns that `changes_to_bytes` was given."""
    reader = reader_of(content)
    gone = set(reader.head["gone"])
    columns: dict[str, Column] = {name: column for name, column in base.items() if name not in gone}
    for name, data in reader.head["changed"].items():
        columns[name] = _changed(reader, data, base.get(name)) if "rows" in data else _read(reader, data)
    return columns


def _column(writer: ChunkWriter, column: Column) -> dict[str, Any]:
    if isinstance(column, np.ndarray):
        return {"array": writer.array(column)}
    return {"values": writer.chunk(_text_of(column))} if len(column) > _SPARSE else {"few": _plain(column)}


def _read(reader: ChunkReader, data: Mapping[str, Any]) -> Column:
    if "array" in data:
        return reader.array(data["array"])
    if "few" in data:
        return tuple(restored(each) for each in data["few"])
    return _values_of(reader.chunks[data["values"]])


def _change(writer: ChunkWriter, column: Column, base: Column | None) -> dict[str, Any]:
    rows = _changed_rows(column, base)
    if rows is None or len(rows) * _SPARSE >= len(column):
        return _column(writer, column)
    if isinstance(column, np.ndarray):
        return {"rows": writer.array(rows), "array": writer.array(column[rows])}
    return {"rows": writer.array(rows), "few": _plain(tuple(column[row] for row in rows.tolist()))}


def _changed_rows(column: Column, base: Column | None) -> Any:
    """None where row by row makes no sense."""
    if base is None or type(base) is not type(column) or len(base) != len(column):
        return None
    if isinstance(column, np.ndarray) and isinstance(base, np.ndarray):
        return np.flatnonzero(bits_of(column) != bits_of(base)) if column.dtype == base.dtype else None
    pairs = enumerate(zip(column, base, strict=True))
    return np.array([at for at, (one, other) in pairs if one is not other and one != other], dtype=np.int64)


def _changed(reader: ChunkReader, data: Mapping[str, Any], base: Column | None) -> Column:
    rows = reader.array(data["rows"])
    if isinstance(base, np.ndarray):
        column = base.copy()
        column[rows] = reader.array(data["array"])
        column.flags.writeable = False
        return column
    values = list(base or ())
    for row, value in zip(rows.tolist(), data["few"], strict=True):
        values[row] = restored(value)
    return tuple(values)


def _plain(values: tuple[Any, ...]) -> list[Any]:
    return [plain(each) for each in values]


def _text_of(values: tuple[Any, ...]) -> bytes:
    return json.dumps(_plain(values), separators=(",", ":")).encode()


def _values_of(content: bytes) -> tuple[Any, ...]:
    return tuple(restored(each) for each in json.loads(content))
