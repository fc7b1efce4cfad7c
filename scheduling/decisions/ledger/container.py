"""A blob: a JSON head that refers to chunks of bytes, compressed together. Equal chunks are written once."""

import hashlib
import json
import lzma
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from scheduling.decisions.ledger.arrays import Array, array_from_bytes, array_to_bytes

MAGIC = b"KN"
_ZLIB, _LZMA = b"z", b"x"
_SHORT = 4096
# A blob is a few ten kB: a small dictionary keeps the compressor from touching megabytes for it.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 18}]


@dataclass(slots=True)
class ChunkWriter:
    """Collects columns; each gives the reference that stands for it in the head."""

    chunks: list[bytes] = field(default_factory=list)
    places: dict[bytes, int] = field(default_factory=dict)
    _written: dict[tuple[str, bytes], list[Any]] = field(default_factory=dict)

    def array(self, array: Array) -> list[Any]:
        """A column of numbers: its form and the place of its bytes. Equal short ones are worked out once."""
        if len(array) > _SHORT:
            return self._array(array)
        key = array.dtype.char, array.tobytes()
        if key not in self._written:
            self._written[key] = self._array(array)
        return self._written[key]

    def _array(self, array: Array) -> list[Any]:
        form, content = array_to_bytes(array)
        return [self.chunk(content), *form]

    def chunk(self, content: bytes) -> int:
        """Any bytes: their place."""
        place = self.places.setdefault(content, len(self.chunks))
        if place == len(self.chunks):
            self.chunks.append(content)
        return place

    def content(self, head: Any) -> bytes:
        """Head and chunks, not compressed. Equal input gives equal bytes."""
        text = json.dumps([[len(each) for each in self.chunks], head], separators=(",", ":")).encode()
        return b"".join([len(text).to_bytes(4, "little"), text, *self.chunks])


@dataclass(frozen=True, slots=True)
class ChunkReader:
    """What a writer wrote."""

    head: Any
    chunks: tuple[bytes, ...]

    def array(self, reference: list[Any]) -> Array:
        """A column that the head refers to; read-only."""
        column = array_from_bytes(reference[1:], self.chunks[reference[0]])
        column.flags.writeable = False
        return column


def reader_of(content: bytes) -> ChunkReader:
    """The inverse of `ChunkWriter.content`."""
    start = 4 + int.from_bytes(content[:4], "little")
    lengths, head = json.loads(content[4:start])
    ends = [start, *(start + np.cumsum(lengths, dtype=np.int64)).tolist()] if lengths else [start]
    return ChunkReader(head, tuple(content[a:b] for a, b in pairwise(ends)))


def digest_of(content: bytes) -> str:
    """The name of a content: 40 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:40]


def compressed(content: bytes, *, aim: int | None = None) -> bytes:
    """Compressed by zlib, which is fast; by lzma where that is smaller and zlib's is above `aim` bytes."""
    quick = zlib.compress(content, 6)
    if aim is None or len(quick) + len(MAGIC) + 1 <= aim:
        return MAGIC + _ZLIB + quick
    small = lzma.compress(content, format=lzma.FORMAT_RAW, filters=_FILTERS)
    return MAGIC + _LZMA + small if len(small) < len(quick) else MAGIC + _ZLIB + quick


def is_container(blob: bytes) -> bool:
    """Whether `compressed` made it."""
    return blob.startswith(MAGIC)


def uncompressed(blob: bytes) -> bytes:
    """The inverse of `compressed`. Raises ValueError for anything else."""
    if not is_container(blob):
        raise ValueError("not a blob of the ledger")
    body = blob[len(MAGIC) + 1 :]
    if blob[len(MAGIC) : len(MAGIC) + 1] == _ZLIB:
        return zlib.decompress(body)
    return lzma.decompress(body, format=lzma.FORMAT_RAW, filters=_FILTERS)
