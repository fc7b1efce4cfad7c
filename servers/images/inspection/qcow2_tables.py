"""Whether a qcow2 has all that its tables name, told by reading its tables alone: for bytes that are no file here,
which qemu-img cannot look through.

https://www.qemu.org/docs/master/interop/qcow2.html. A cluster counts as missing as with `qemu-img check`: the last one
of a file may be shorter than a cluster. What its internal snapshots alone have, no guest reads, and is not looked for.
"""

import struct
from collections.abc import Callable, Iterator

ReadAt = Callable[[int, int], bytes]
"""So many bytes from an offset on; fewer at the end."""

WINDOW_BYTES = 256 * 1024
"""Read at once: tables lie beside each other in images of small clusters."""
L1_MAX_BYTES = 32 * 2**20
REFCOUNTS_MAX_BYTES = 8 * 2**20
"""QEMU's own bounds: it opens no image whose tables are larger."""
_HEADER = struct.Struct(">4xI12xI8x4xIQQI12x")
_FEATURES = struct.Struct(">Q")
_EXTENDED_L2 = 1 << 4
_OFFSET = 0x00FFFFFFFFFFFE00
_COMPRESSED = 1 << 62
_SECTOR_BYTES = 512


def qcow2_missing_clusters(read_at: ReadAt, file_bytes: int, *, go_on: Callable[[], None]) -> int:
    """How many clusters its tables name that are not in the file of `file_bytes`, tables among them. Its header has
    been inspected. What `go_on` raises, which is called before each table, ends it; so does what `read_at` raises.
    """
    window = _Window(read_at, file_bytes)
    head = window.read(0, _HEADER.size + _FEATURES.size)
    version, cluster_bits, l1_entries, l1_at, refcounts_at, refcount_clusters = _HEADER.unpack_from(head)
    features = _FEATURES.unpack_from(head, _HEADER.size)[0] if version > 2 else 0
    cluster: int = 1 << cluster_bits

    def is_missing(offset: int, size: int = cluster) -> bool:
        return offset + size - file_bytes >= cluster

    missing = 0
    tables = ((l1_at, l1_entries * 8, L1_MAX_BYTES), (refcounts_at, refcount_clusters * cluster, REFCOUNTS_MAX_BYTES))
    for at, size, max_bytes in tables:
        missing += size > max_bytes or is_missing(at, size)
    if missing:
        return missing
    go_on()
    missing += sum(map(is_missing, _named(window.read(refcounts_at, refcount_clusters * cluster))))
    step = 2 if features & _EXTENDED_L2 else 1
    for at in sorted(set(_named(window.read(l1_at, l1_entries * 8)))):
        go_on()
        if is_missing(at):
            missing += 1
            continue
        for entry in _entries(window.read(at, cluster))[::step]:
            if entry & _COMPRESSED:
                missing += is_missing(*_compressed(entry, cluster_bits))
            elif offset := entry & _OFFSET:
                missing += is_missing(offset)
    return missing


class _Window:
    """Reads tables, some of them from what was read with the one before."""

    def __init__(self, read_at: ReadAt, file_bytes: int) -> None:
        self._read_at, self._file_bytes = read_at, file_bytes
        self._at, self._bytes = 0, b""

    def read(self, at: int, size: int) -> bytes:
        """What lies there; zeros beyond the end, as QEMU reads it."""
        there = max(0, min(size, self._file_bytes - at))
        if not self._at <= at <= at + there <= self._at + len(self._bytes):
            wanted = min(max(there, WINDOW_BYTES), max(0, self._file_bytes - at))
            self._at, self._bytes = at, self._read_at(at, wanted) if wanted else b""
        begin = at - self._at
        return self._bytes[begin : begin + there].ljust(size, b"\0")


def _entries(table: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(table) // 8}Q", table)


def _named(table: bytes) -> Iterator[int]:
    """The offsets in a table of tables."""
    return (offset for entry in _entries(table) if (offset := entry & _OFFSET))


def _compressed(entry: int, cluster_bits: int) -> tuple[int, int]:
    """Offset and size of a compressed cluster, of whole sectors."""
    bits = 62 - (cluster_bits - 8)
    offset = entry & ((1 << bits) - 1)
    sectors = ((entry & (_COMPRESSED - 1)) >> bits) + 1
    begin = offset & -_SECTOR_BYTES
    return begin, sectors * _SECTOR_BYTES
