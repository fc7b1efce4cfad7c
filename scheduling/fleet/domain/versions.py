"""Which of some versions is the newest."""

import re
from collections.abc import Iterable

_PARTS = re.compile(r"\d+|[a-zA-Z]+")
_BEFORE_RELEASE = ("dev", "a", "alpha", "b", "beta", "rc")

Order = tuple[tuple[int, int, str], ...]


def version_order(version: str) -> Order:
    """To sort by: numbers as numbers, so that 10 comes after 9, and `2.0rc1` before `2.0`."""
    parts = []
    for part in _PARTS.findall(version):
        if part.isdecimal():
            parts.append((2, int(part), ""))
        else:
            parts.append((0 if part.lower() in _BEFORE_RELEASE else 3, 0, part.lower()))
    return (*parts, (1, 0, ""))


def newest_version(versions: Iterable[str]) -> str:
    """ "" among none that is known."""
    return max((one for one in versions if one), key=version_order, default="")
