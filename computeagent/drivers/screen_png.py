"""Pictures of a guest's screen as PNG files: hypervisors give them as raw pixels (PPM), browsers want PNG.

The pixels are a guest's and may be anything, and so may the sizes that it sets.
"""

import re
import struct
import zlib

from computeagent.drivers.base import DriverError
from computeagent.protocol.screens import MAX_PNG_BYTES, PNG_MAGIC

MAX_PIXELS = 16 * 2**20
MAX_RAW_BYTES = 3 * MAX_PIXELS + 64
"""More than that no screen has; whoever reads one stops there."""
_PPM = re.compile(rb"P6\s+(?:#[^\n]*\n\s*)*(\d{1,5})\s+(\d{1,5})\s+255\s", re.ASCII)


def screen_png(raw: bytes) -> bytes:
    """PNG of at most MAX_PNG_BYTES, of what a hypervisor gave. Raises DriverError for what is no picture."""
    if raw.startswith(PNG_MAGIC):
        if len(raw) > MAX_PNG_BYTES:
            raise DriverError(f"the screen is a picture of {len(raw)} bytes, above {MAX_PNG_BYTES}")
        return raw
    found = _PPM.match(raw)
    if found is None:
        raise DriverError("what the hypervisor gave of the screen is no picture")
    width, height = int(found[1]), int(found[2])
    pixels = memoryview(raw)[found.end() :]
    if not 0 < width * height <= MAX_PIXELS or len(pixels) < 3 * width * height:
        raise DriverError(f"the screen is said to have {width} x {height} pixels, and there are {len(pixels)} bytes")
    rows = [bytes(pixels[3 * width * row : 3 * width * (row + 1)]) for row in range(height)]
    while len(png := png_of(rows)) > MAX_PNG_BYTES:
        rows = [_every_second_pixel(row) for row in rows[::2]]
    return png


def png_of(rows: list[bytes]) -> bytes:
    """A PNG of rows of 8-bit red, green and blue (https://www.w3.org/TR/png/)."""
    width, height = len(rows[0]) // 3, len(rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return PNG_MAGIC + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _every_second_pixel(row: bytes) -> bytes:
    half = bytearray((len(row) // 3 + 1) // 2 * 3)
    for color in range(3):
        half[color::3] = row[color::3][::2]
    return bytes(half)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
