"""What changed since a volume's last backup, told by its bytes alone: for a backup whose snapshot is gone.

Blocks of the snapshot are compared with what the backups before it give together, the later over the earlier ones. All
are read once, side by side and forward; nothing of them is kept but where they differ.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from computeagent.volumes.backup_stream import Parts
from computeagent.volumes.base import VolumeBackendError

BLOCK_BYTES = 256 * 1024
"""What is compared, and sent, at once."""
Range = tuple[int, int]
"""Begin and end."""
_Block = tuple[int, list[tuple[int, bytes]]]


def ranges_changed(now: Parts, before: Sequence[Parts]) -> list[Range]:
    """Where `now` has other bytes than `before`, a full backup and its increments; what is in none of them is zero.
    Raises VolumeBackendError where one of them is not in ascending order, and what they raise.
    """
    streams = [_blocks(parts) for parts in (*before, now)]
    heads = [next(stream, None) for stream in streams]
    found: list[Range] = []
    while there := [head[0] for head in heads if head is not None]:
        number, old, new, end = min(there), bytearray(BLOCK_BYTES), bytearray(BLOCK_BYTES), 0
        begin = number * BLOCK_BYTES
        for place, head in enumerate(heads):
            if head is None or head[0] != number:
                continue
            for offset, data in head[1]:
                over = new if place == len(before) else old
                over[offset - begin : offset - begin + len(data)] = data
                end = max(end, offset + len(data))
            heads[place] = next(streams[place], None)
        if old != new:
            last = found.pop() if found and found[-1][1] == begin else (begin, begin)
            found.append((last[0], end))
    return found


def parts_within(now: Parts, ranges: Sequence[Range]) -> Parts:
    """What `now` has in these ranges, which `ranges_changed` told, in blocks; what is in none of its parts is zero."""
    blocks = _blocks(now)
    head = next(blocks, None)
    for first, last in ranges:
        for begin in range(first, last, BLOCK_BYTES):
            data = bytearray(min(BLOCK_BYTES, last - begin))
            while head is not None and head[0] * BLOCK_BYTES < begin:
                head = next(blocks, None)
            if head is not None and head[0] * BLOCK_BYTES == begin:
                for offset, piece in head[1]:
                    data[offset - begin : offset - begin + len(piece)] = piece
            yield begin, bytes(data)


def _blocks(parts: Parts) -> Iterator[_Block]:
    """By its number each block of which there is something, with the pieces of it."""
    for number, pieces in groupby(_pieces(parts), key=lambda piece: piece[0] // BLOCK_BYTES):
        yield number, list(pieces)


def _pieces(parts: Parts) -> Parts:
    """The same parts, cut where a block ends."""
    end = 0
    for offset, data in parts:
        if offset < end:
            raise VolumeBackendError(f"what was read of the volume goes back from byte {end} to {offset}")
        end, at = offset + len(data), 0
        while at < len(data):
            size = min(len(data) - at, BLOCK_BYTES - (offset + at) % BLOCK_BYTES)
            yield offset + at, data[at : at + size]
            at += size
