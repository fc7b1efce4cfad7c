"""Short forms for JSON: ranges of rows, runs of numbered names, columns that hardly vary."""

import re
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from scheduling.domain.columns import FloatArray, IntArray

_NUMBERED = re.compile(r"^(.*?)(0*[0-9]{1,9})([^0-9]*)$")
_MAX_DIGITS = 255  # of a name
# A change of a column is written as differences when fewer than one row in four differs.
_SPARSE = 4
_LETTERS = string.digits + string.ascii_letters
_LETTER_BYTES = np.frombuffer(_LETTERS.encode(), dtype=np.uint8)
_LETTER_CODES = np.zeros(256, dtype=np.int64)
_LETTER_CODES[_LETTER_BYTES] = np.arange(len(_LETTERS))


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


def places_in_runs(runs: Sequence[Any], name: str) -> tuple[int, ...]:
    """Where `name` stands among the names of `names_to_runs`, whatever the case, without writing them out."""
    wanted, at = name.lower(), 0
    found: list[int] = []
    for run in runs:
        if isinstance(run, str):
            found += [at] if run.lower() == wanted else []
            at += 1
            continue
        offset = _offset_in(run, wanted)
        found += [] if offset is None else [at + offset]
        at += run[3]
    return tuple(found)


def _offset_in(run: list[Any], wanted: str) -> int | None:
    prefix, number, suffix, count = run[0].lower(), run[1], run[2].lower(), run[3]
    middle = wanted[len(prefix) : len(wanted) - len(suffix)]
    if not (middle.isascii() and middle.isdecimal() and wanted == f"{prefix}{middle}{suffix}"):
        return None
    offset = int(middle) - int(number) if len(middle) <= _MAX_DIGITS else -1
    return offset if 0 <= offset < count and middle == f"{int(middle):0{len(number)}d}" else None


def _continues(run: Any, name: str) -> bool:
    if isinstance(run, str) or _name(run, run[3]) != name:
        return False
    run[3] += 1
    return True


def _name(run: list[Any], offset: int) -> str:
    prefix, number, suffix, _ = run
    return f"{prefix}{int(number) + offset:0{len(number)}d}{suffix}"


def column_to_json(column: FloatArray, before: FloatArray | None = None) -> Any:
    """One number if all are equal; differences to `before` if few differ; few distinct values with a letter for each
    row; else the list.
    """
    if len(column) and (column == column[0]).all():
        return number_to_json(float(column[0]))
    if before is not None:
        changed = np.flatnonzero(column != before)
        if len(changed) * _SPARSE < len(column):
            return {"changed": {str(at): number_to_json(float(column[at])) for at in changed.tolist()}}
    values, codes = np.unique(column, return_inverse=True)
    if len(values) > len(_LETTERS):
        return [number_to_json(value) for value in column.tolist()]
    letters = codes_to_letters(codes)
    return {"values": [number_to_json(value) for value in values.tolist()], "letters": letters}


def column_from_json(data: Any, count: int, before: FloatArray | None = None) -> FloatArray:
    """The inverse of `column_to_json`."""
    if not isinstance(data, dict):
        return np.array(data, dtype=np.float64) if isinstance(data, list) else np.full(count, data, dtype=np.float64)
    if "letters" in data:
        codes = letters_to_codes(data["letters"])
        return np.array(data["values"], dtype=np.float64)[codes]
    if before is None:
        raise ValueError("a changed column without the one before it")
    column = before.copy()
    for at, value in data["changed"].items():
        column[int(at)] = value
    return column


def codes_to_letters(codes: IntArray) -> str:
    """A letter for each code below 62."""
    return _LETTER_BYTES[codes].tobytes().decode()


def letters_to_codes(letters: str) -> IntArray:
    """The inverse of `codes_to_letters`."""
    return _LETTER_CODES[np.frombuffer(letters.encode(), dtype=np.uint8)]


def letters_shared(columns: list[Any]) -> list[Any]:
    """Columns that group the hosts alike write their letters once: the later ones name the first's place."""
    seen: dict[str, int] = {}
    shared: list[Any] = []
    for at, column in enumerate(columns):
        letters = column.get("letters") if isinstance(column, dict) else None
        first = at if letters is None else seen.setdefault(letters, at)
        shared.append(column if first == at else {"values": column["values"], "letters_of": first})
    return shared


def letters_unshared(columns: list[Any]) -> list[Any]:
    """The inverse of `letters_shared`."""
    return [
        {"values": column["values"], "letters": columns[column["letters_of"]]["letters"]}
        if isinstance(column, dict) and "letters_of" in column
        else column
        for column in columns
    ]


def number_to_json(value: float) -> int | float:
    """Whole numbers without a point."""
    return int(value) if value.is_integer() else value
