"""Backups of volumes as streams: what goes in comes out, nothing else is taken for it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.volumes.backup_changes import BLOCK_BYTES, parts_within, ranges_changed
from computeagent.volumes.backup_stream import MAX_RECORD_BYTES, StreamFile, backup_parts, backup_stream
from computeagent.volumes.base import VolumeBackendError

PARTS = st.lists(
    st.tuples(st.integers(0, 2**50), st.one_of(st.binary(min_size=1, max_size=300), st.integers(1, 300).map(bytes))),
    max_size=8,
)


def cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """The bytes in pieces of these sizes, the rest at once."""
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data


@given(PARTS, st.lists(st.integers(0, 40)))
def test_parts_come_out_as_they_went_in(parts: list[tuple[int, bytes]], sizes: list[int]) -> None:
    stream = b"".join(backup_stream(iter(parts)))
    assert list(backup_parts(cut(stream, sizes))) == parts


@given(PARTS, st.data())
def test_a_changed_or_shortened_stream_is_refused(parts: list[tuple[int, bytes]], data: st.DataObject) -> None:
    stream = bytearray(b"".join(backup_stream(iter(parts))))
    at = data.draw(st.integers(0, len(stream) - 1))
    if data.draw(st.booleans()):
        stream = stream[:at]
    else:
        stream[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(VolumeBackendError, match="backup"):
        list(backup_parts(iter([bytes(stream)])))


@given(PARTS, st.lists(st.tuples(st.integers(0, 400), st.integers(1, 400)), max_size=6))
def test_a_stream_reads_as_a_file(parts: list[tuple[int, bytes]], reads: list[tuple[int, int]]) -> None:
    stream = b"".join(backup_stream(iter(parts)))
    file = StreamFile(lambda: backup_stream(iter(parts)))
    for offset, size in reads:
        file.seek(offset)
        assert file.read(size) == stream[offset : offset + size]


def test_zeros_take_no_room() -> None:
    size = MAX_RECORD_BYTES + 5
    stream = b"".join(backup_stream(iter([(7, bytes(size))])))
    assert len(stream) < 200
    assert [(offset, len(data)) for offset, data in backup_parts(iter([stream]))] == [
        (7, MAX_RECORD_BYTES),
        (7 + MAX_RECORD_BYTES, 5),
    ]


VOLUME = 3 * BLOCK_BYTES // 2
"""One block, and half of one."""
WRITES = st.lists(
    st.tuples(st.integers(0, VOLUME - 1), st.integers(1, 2 * BLOCK_BYTES), st.sampled_from(b"\0\1\2")), max_size=4
)


def written(volume: bytes, writes: list[tuple[int, int, int]]) -> bytes:
    for offset, size, byte in writes:
        volume = (volume[:offset] + bytes([byte]) * size + volume[offset + size :])[:VOLUME]
    return volume


def parts_of(volume: bytes, cuts: list[int]) -> list[tuple[int, bytes]]:
    """The volume in parts that end at `cuts`, those of zeros left out."""
    ends = sorted({0, VOLUME, *cuts})
    return [(a, volume[a:b]) for a, b in pairwise(ends) if volume[a:b].strip(b"\0")]


@given(st.lists(WRITES, min_size=2, max_size=4), st.lists(st.lists(st.integers(0, VOLUME)), min_size=4, max_size=4))
def test_increments_by_bytes_alone_give_the_volume_back(moments: list[Any], cuts: list[list[int]]) -> None:
    """A full backup and then increments of which each is told by comparing, restored over one another."""
    volume, restored = written(bytes(VOLUME), moments[0]), bytearray(VOLUME)
    chain = [parts_of(volume, cuts[0])]
    for writes, ends in zip(moments[1:], cuts[1:], strict=False):
        before, volume = volume, written(volume, writes)
        now = parts_of(volume, ends)
        ranges = ranges_changed(iter(now), [iter(one) for one in chain])
        chain.append(list(parts_within(iter(now), ranges)))
        sent = {offset // BLOCK_BYTES for offset, _ in chain[-1]}
        changed = {
            at for at in (0, 1) if before[at * BLOCK_BYTES :][:BLOCK_BYTES] != volume[at * BLOCK_BYTES :][:BLOCK_BYTES]
        }
        assert sent == changed
    for parts in chain:
        for offset, data in parts:
            restored[offset : offset + len(data)] = data
    assert bytes(restored) == volume


def test_parts_that_go_back_are_no_base_to_compare_with() -> None:
    with pytest.raises(VolumeBackendError, match="goes back from byte 5 to 0"):
        ranges_changed(iter([]), [iter([(4, b"x"), (0, b"y")])])
