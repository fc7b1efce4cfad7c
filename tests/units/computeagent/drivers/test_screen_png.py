"""Pictures of screens: raw pixels become PNG, large ones shrink, and what is no picture is refused."""

import random
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.drivers.base import DriverError
from computeagent.drivers.screen_png import png_of, screen_png
from computeagent.protocol.screens import MAX_PNG_BYTES, PNG_MAGIC


def read(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and pixels of a PNG as `png_of` makes it, each checksum verified."""
    assert png.startswith(PNG_MAGIC)
    at, chunks = len(PNG_MAGIC), {}
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", png, at + 8 + length)[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    raw = zlib.decompress(chunks[b"IDAT"])
    rows = [raw[row * (3 * width + 1) :][: 3 * width + 1] for row in range(height)]
    assert {row[0] for row in rows} == {0}
    return width, height, b"".join(row[1:] for row in rows)


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_pixels_stay_what_they_are(width: int, height: int, data: st.DataObject) -> None:
    pixels = data.draw(st.binary(min_size=3 * width * height, max_size=3 * width * height))
    assert read(screen_png(b"P6\n# made by QEMU\n%d %d\n255\n" % (width, height) + pixels)) == (width, height, pixels)


def test_a_picture_that_is_too_large_is_shrunk() -> None:
    noise = random.Random(1).randbytes(3 * 1000 * 700)
    png = screen_png(b"P6 1000 700 255\n" + noise)
    width, height, _ = read(png)
    assert len(png) <= MAX_PNG_BYTES
    assert (width, height) == (500, 350)


def test_png_of_the_hypervisors_own_passes() -> None:
    png = png_of([b"\0\0\0"])
    assert screen_png(png) == png


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"GIF89a",
        b"P6 0 5 255\n",
        b"P6 2 2 255\nxx",
        b"P6 99999 99999 255\n" + b"x" * 99,
        b"P5 1 1 255\nxxx",
        PNG_MAGIC + b"x" * MAX_PNG_BYTES,
    ],
)
def test_what_is_no_picture_is_refused(raw: bytes) -> None:
    with pytest.raises(DriverError):
        screen_png(raw)
