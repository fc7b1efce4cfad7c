"""Columns of numbers as bytes that compress well, exact to the bit.

A form is chosen by what the column is like: one value, few distinct values with a code for each row, whole numbers
in as few bytes as their range needs (as they are or as steps from row to row), else all eight bytes. Bytes of equal
weight stand together.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes8 = npt.NDArray[np.uint8]
_FEW = 256
_EXACT = 2**53
_KINDS = {"b": np.bool_, "i": np.int64, "f": np.float64}


def array_to_bytes(array: Array) -> tuple[list[Any], bytes]:
    """What has to be known to read it (JSON), and the bytes. Kinds: bool, int64, float64."""
    kind = array.dtype.kind
    if kind not in _KINDS:
        raise TypeError(f"the ledger cannot keep a column of {array.dtype}")
    if kind == "b":
        return [kind, len(array), "bits"], np.packbits(array).tobytes()
    wide: Array = array.astype(_KINDS[kind], copy=False)
    numbers = _as_integers(wide)
    if numbers is None:
        return _floats(wide)
    form, content = _integers(numbers)
    return [kind, len(array), *form], content


def array_from_bytes(form: list[Any], content: bytes) -> Array:
    """The inverse of `array_to_bytes`."""
    kind, count, name, *rest = form
    if name == "bits":
        return np.unpackbits(np.frombuffer(content, dtype=np.uint8), count=count).astype(np.bool_)
    if name == "raw":
        return np.ascontiguousarray(_planes_from(content, count, 8)).view(np.float64).reshape(count)
    if name == "few floats":
        return np.array(rest[0], dtype=np.int64).view(np.float64)[np.frombuffer(content, dtype=np.uint8)]
    return _integers_from(name, rest, content, count).astype(_KINDS[kind])


def _as_integers(array: Array) -> npt.NDArray[np.int64] | None:
    """None where it is not just whole numbers: a fraction, minus zero, nan, or too large to be exact."""
    if array.dtype.kind == "i":
        return array
    if not np.isfinite(array).all() or (np.abs(array) >= _EXACT).any():
        return None
    numbers = array.astype(np.int64)
    same = np.array_equal(numbers.astype(np.float64).view(np.int64), array.view(np.int64))
    return numbers if same else None


def _integers(numbers: npt.NDArray[np.int64]) -> tuple[list[Any], bytes]:
    if not len(numbers):
        return ["one", 0], b""
    low, high = int(numbers.min()), int(numbers.max())
    if low == high:
        return ["one", low], b""
    values, first, codes = np.unique(numbers, return_index=True, return_inverse=True)
    if len(values) <= _FEW:
        return _few(values, first, codes)
    return _ranged(numbers, low, high)


def _few(values: Array, first: Array, codes: Array) -> tuple[list[Any], bytes]:
    """Codes by first appearance: columns that group the rows alike have equal bytes, whatever their values."""
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.uint8)
    place[order] = np.arange(len(order), dtype=np.uint8)
    return ["few", values[order].tolist()], place[codes].tobytes()


def _ranged(numbers: npt.NDArray[np.int64], low: int, high: int) -> tuple[list[Any], bytes]:
    width = _width(high - low)
    if width > 7:
        return ["planes", 8, 0], _planes(numbers, 8)
    steps = np.diff(numbers)
    minimum, maximum = int(steps.min()), int(steps.max())
    if _width(maximum - minimum) < width:
        return ["steps", _width(maximum - minimum), minimum, int(numbers[0])], _planes(
            steps - minimum, _width(maximum - minimum)
        )
    return ["planes", width, low], _planes(numbers - low, width)


def _integers_from(name: str, rest: list[Any], content: bytes, count: int) -> npt.NDArray[np.int64]:
    if name == "one":
        return np.full(count, rest[0], dtype=np.int64)
    if name == "few":
        values: npt.NDArray[np.int64] = np.array(rest[0], dtype=np.int64)
        return values[np.frombuffer(content, dtype=np.uint8)]
    if name == "planes":
        width, low = rest
        ranged: npt.NDArray[np.int64] = _widened(content, count, width) + low
        return ranged
    width, minimum, start = rest
    steps = _widened(content, count - 1, width) + minimum
    whole: npt.NDArray[np.int64] = np.concatenate([np.array([start]), start + np.cumsum(steps)]).astype(np.int64)
    return whole


def _floats(array: Array) -> tuple[list[Any], bytes]:
    bits = np.ascontiguousarray(array).view(np.int64)
    values, first, codes = np.unique(bits, return_index=True, return_inverse=True)
    if len(values) <= _FEW:
        form, content = _few(values, first, codes)
        return ["f", len(array), "few floats", form[1]], content
    return ["f", len(array), "raw"], _planes(bits, 8)


def _width(span: int) -> int:
    return max(1, (span.bit_length() + 7) // 8)


def _planes(numbers: npt.NDArray[np.int64], width: int) -> bytes:
    """The lowest bytes of all numbers, then the next ones, `width` in all."""
    table: Bytes8 = np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8).reshape(len(numbers), 8)
    return np.ascontiguousarray(table[:, :width].T).tobytes()


def _planes_from(content: bytes, count: int, width: int) -> Bytes8:
    table = np.zeros((count, 8), dtype=np.uint8)
    table[:, :width] = np.frombuffer(content, dtype=np.uint8).reshape(width, count).T
    return table


def _widened(content: bytes, count: int, width: int) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(_planes_from(content, count, width)).view("<i8").reshape(count).astype(np.int64)
