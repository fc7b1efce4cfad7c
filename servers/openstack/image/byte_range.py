"""The Range header of a download."""

import re

from controlplane.openstack.faults import ApiFault

_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")


def byte_range(header: str, size: int) -> tuple[int, int]:
    """(first byte, number of bytes) of the one range that is asked for. Raises Fault 416."""
    found = _RANGE.fullmatch(header.replace(" ", ""))
    if found is None or not (found[1] or found[2]):
        raise ApiFault(416, f"Invalid Range header: {header:.80}; one range of bytes is served, such as bytes=0-99.")
    if not found[1]:
        last = min(int(found[2]), size)
        first, end = size - last, size
    else:
        first, end = int(found[1]), min(int(found[2]) + 1, size) if found[2] else size
    if first >= end:
        raise ApiFault(416, f"The range {header:.80} has none of the {size} bytes.")
    return first, end - first
