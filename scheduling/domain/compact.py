"""Short forms for JSON: ranges of rows, runs of numbered names, columns that hardly vary."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from scheduling.domain.columns import FloatArray, IntArray

_NUMBERED = re.compile(r"^(.*?)(0*[0-9]{1,9})([^0-9]*)$")
# A change of a column is written as differences when fewer than one row in four differs.
_SPARSE = 4


def rows_to_text(rows: IntArray) -> str:
    """Ascending rows as ranges: '0-4,7'."""
    if not len(rows):
        return ""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    parts = np.split(rows, breaks)
    return ",".join(f"{part[0]}" if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def rows_from_text(text: str) -> IntArray:
    """The inverse of `rows_to_text`."""
    rows: list[int] = []
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        rows.extend(range(int(first), int(last or first) + 1))
    return np.array(rows, dtype=np.int64)


def names_to_runs(names: Sequence[str]) -> list[Any]:
    """Names with runs of numbers folded: ['cmp-', '00', '.lan', 3] stands for cmp-00.lan to cmp-02.lan."""
    runs: list[Any] = []
    for name in names:
        if not (runs and _continues(runs[-1], name)):
            found = _NUMBERED.match(name)
            runs.append([found[1], found[2], found[3], 1] if found else name)
    return runs


def names_from_runs(runs: Sequence[Any]) -> tuple[str, ...]:
    """The inverse of `names_to_runs`."""
    names: list[str] = []
    for run in runs:
        names.extend([run] if isinstance(run, str) else (_name(run, offset) for offset in range(run[3])))
    return tuple(names)


def _continues(run: Any, name: str) -> bool:
    if isinstance(run, str) or _name(run, run[3]) != name:
        return False
    run[3] += 1
    return True


def _name(run: list[Any], offset: int) -> str:
    prefix, number, suffix, _ = run
    return f"{prefix}{int(number) + offset:0{len(number)}d}{suffix}"


def column_to_json(column: FloatArray, before: FloatArray | None = None) -> Any:
    """One number if all are equal; differences to `before` if few differ; else the list."""
    if len(column) and (column == column[0]).all():
        return number_to_json(float(column[0]))
    if before is not None:
        changed = np.flatnonzero(column != before)
        if len(changed) * _SPARSE < len(column):
            return {str(at): number_to_json(float(column[at])) for at in changed.tolist()}
    return [number_to_json(value) for value in column.tolist()]


def column_from_json(data: Any, count: int, before: FloatArray | None = None) -> FloatArray:
    """The inverse of `column_to_json`."""
    if isinstance(data, dict) and before is not None:
        column = before.copy()
        for at, value in data.items():
            column[int(at)] = value
        return column
    if isinstance(data, list):
        return np.array(data, dtype=np.float64)
    return np.full(count, data, dtype=np.float64)


def number_to_json(value: float) -> int | float:
    """Whole numbers without a point."""
    return int(value) if value.is_integer() else value
