"""The picture of a guest's screen, out of libvirt."""

from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError
from computeagent.drivers.screen_png import MAX_RAW_BYTES, screen_png

PART_BYTES = 256 * 1024


def domain_screenshot(conn: Any, domain: Any) -> bytes:
    """PNG. Raises LibvirtError, and DriverError for a guest that is off."""
    if not domain.isActive():
        raise DriverError(f"guest {domain.name()} is off, so it has no screen")
    stream = conn.newStream()
    try:
        domain.screenshot(stream, 0, 0)
        raw = bytearray()
        while part := stream.recv(PART_BYTES):
            raw += part
            if len(raw) > MAX_RAW_BYTES:
                raise DriverError(f"the screen of guest {domain.name()} has more than {MAX_RAW_BYTES} bytes")
        stream.finish()
    except (LibvirtError, DriverError):
        _abort(stream)
        raise
    return screen_png(bytes(raw))


def _abort(stream: Any) -> None:
    try:
        stream.abort()
    except LibvirtError:
        return  # it never began, or ended by itself
