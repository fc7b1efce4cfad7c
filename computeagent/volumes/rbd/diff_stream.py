"""The stream of `rbd export-diff` and `rbd import-diff`, version 1, as Ceph documents it (doc/dev/rbd-diff.rst)."""

import struct
from collections.abc import Iterator
from typing import IO

from computeagent.volumes.base import VolumeBackendError

MAGIC = b"rbd diff v1\n"
PART_BYTES = 4 * 2**20
"""The most that one part has; Ceph's own objects are this large."""
_NUMBER, _PAIR = struct.Struct("<Q"), struct.Struct("<QQ")


def parts_of(stream: IO[bytes], *, has_zeros: bool) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each part; with `has_zeros` also of those that became zero. Raises VolumeBackendError for a
    stream that ends before its end.
    """
    if _exactly(stream, len(MAGIC)) != MAGIC:
        raise VolumeBackendError("rbd export-diff writes another format than is understood here")
    while (tag := _exactly(stream, 1)) != b"e":
        if tag in {b"f", b"t"}:
            _exactly(stream, int.from_bytes(_exactly(stream, 4), "little"))
        elif tag == b"s":
            _exactly(stream, _NUMBER.size)
        elif tag in {b"w", b"z"}:
            offset, length = _PAIR.unpack(_exactly(stream, _PAIR.size))
            for begin in range(offset, offset + length, PART_BYTES):
                size = min(PART_BYTES, offset + length - begin)
                data = _exactly(stream, size) if tag == b"w" else bytes(size)
                if has_zeros or any(data):
                    yield begin, data
        else:
            raise VolumeBackendError(f"rbd export-diff wrote a record {tag!r} that is not understood here")


def stream_of(size_bytes: int, parts: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
    """What import-diff is given to have these parts in an image of this size."""
    yield MAGIC + b"s" + _NUMBER.pack(size_bytes)
    for offset, data in parts:
        if any(data):
            yield b"w" + _PAIR.pack(offset, len(data))
            yield data
        else:
            yield b"z" + _PAIR.pack(offset, len(data))
    yield b"e"


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise VolumeBackendError("rbd export-diff ended before its end")
    return data
