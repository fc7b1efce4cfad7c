"""One range of bytes as HTTP asks for it (RFC 9110, section 14): `bytes=0-99`, `bytes=100-`, `bytes=-100`."""

import re

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


class RangeNotSatisfiable(ValueError):
    """The range begins after the end."""


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """First byte and the one after the last. None for no range, several, or one that is not understood: all is sent
    then, as the RFC wants. Raises RangeNotSatisfiable.
    """
    found = _RANGE.fullmatch(header.strip())
    if found is None or found[1] == found[2] == "":
        return None
    if not found[1]:
        length = int(found[2])
        if not length or not size:
            raise RangeNotSatisfiable
        return max(0, size - length), size
    first = int(found[1])
    last = int(found[2]) if found[2] else size - 1
    if found[2] and last < first:
        return None
    if first >= size:
        raise RangeNotSatisfiable
    return first, min(last, size - 1) + 1
