"""The format of a volume's backup: a stream of records, each with its own checksum. See docs/volume-backups.md.

    begins  8 bytes  KVBACKUP
            4 bytes  version, 1
    record  1 byte   D: data, Z: zeros, E: the end
            8 bytes  offset in the volume, in bytes; of E the number of records before it
            8 bytes  how many bytes of the volume
           32 bytes  SHA-256 of the record's first 17 bytes and of the data that follows; data follows D alone

Numbers are little-endian. The same snapshot makes the same stream, so sending one can go on where it was.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator

from computeagent.volumes.base import VolumeBackendError

MAGIC, VERSION = b"KVBACKUP", 1
MAX_RECORD_BYTES = 16 * 2**20
DATA, ZEROS, END = b"D", b"Z", b"E"
_BEGINS, _HEAD = struct.Struct("<8sI"), struct.Struct("<cQQ")
_DIGEST_BYTES = 32

Parts = Iterator[tuple[int, bytes]]


def backup_stream(parts: Parts) -> Iterator[bytes]:
    """The stream that has these parts, in pieces of any size."""
    yield _BEGINS.pack(MAGIC, VERSION)
    count = 0
    for offset, data in parts:
        count += 1
        if any(data):
            head = _HEAD.pack(DATA, offset, len(data))
            yield head + hashlib.sha256(head + data).digest()
            yield data
        else:
            head = _HEAD.pack(ZEROS, offset, len(data))
            yield head + hashlib.sha256(head).digest()
    head = _HEAD.pack(END, count, 0)
    yield head + hashlib.sha256(head).digest()


def backup_parts(chunks: Iterator[bytes]) -> Parts:
    """The parts that a stream has, each compared with its checksum. Raises VolumeBackendError where it is none, is
    changed, or ends before its end.
    """
    source = _Chunks(chunks)
    magic, version = _BEGINS.unpack(source.exactly(_BEGINS.size))
    if magic != MAGIC or version != VERSION:
        raise VolumeBackendError("the backup is of a format that is not understood here")
    count = 0
    while True:
        head, digest = source.exactly(_HEAD.size), source.exactly(_DIGEST_BYTES)
        tag, offset, size = _HEAD.unpack(head)
        if tag not in {DATA, ZEROS, END} or (tag == DATA and size > MAX_RECORD_BYTES):
            raise VolumeBackendError(f"record {count} of the backup is damaged")
        data = source.exactly(size) if tag == DATA else b""
        if hashlib.sha256(head + data).digest() != digest:
            raise VolumeBackendError(f"record {count} of the backup does not match its checksum")
        if tag == END:
            if offset != count:
                raise VolumeBackendError(f"the backup has {count} records and should have {offset}")
            return
        count += 1
        if tag == DATA:
            yield offset, data
        else:
            for begin in range(offset, offset + size, MAX_RECORD_BYTES):
                yield begin, bytes(min(MAX_RECORD_BYTES, offset + size - begin))


class StreamFile:
    """A stream that can be made again, as the file that uploads read from: forward, and again from its beginning."""

    def __init__(self, open_stream: Callable[[], Iterator[bytes]]) -> None:
        self._open_stream = open_stream
        self._source = _Chunks(iter(()))
        self._at = -1

    def seek(self, offset: int) -> int:
        """Be at `offset`. What was read already is made again where it lies behind."""
        if self._at < 0 or offset < self._at:
            self._source = _Chunks(self._open_stream())
            self._at = 0
        while self._at < offset and (passed := self._source.some(min(offset - self._at, MAX_RECORD_BYTES))):
            self._at += len(passed)
        return self._at

    def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end only."""
        pieces = []
        while size and (piece := self._source.some(size)):
            pieces.append(piece)
            size -= len(piece)
            self._at += len(piece)
        return b"".join(pieces)


class _Chunks:
    """Chunks of any size, read by how much is wanted."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")

    def some(self, size: int) -> bytes:
        """Some bytes, at least one; none at the end."""
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._left = memoryview(chunk)
        piece, self._left = self._left[:size], self._left[size:]
        return bytes(piece)

    def exactly(self, size: int) -> bytes:
        """Raises VolumeBackendError where there are fewer."""
        pieces = []
        while size:
            piece = self.some(size)
            if not piece:
                raise VolumeBackendError("the backup ends before its end")
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)
