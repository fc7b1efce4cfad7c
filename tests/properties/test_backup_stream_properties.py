"""Backups of volumes as streams: what goes in comes out, nothing else is taken for it."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
