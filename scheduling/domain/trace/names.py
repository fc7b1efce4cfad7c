"""Names of hosts with runs of numbers folded: the names of a fleet in some hundred bytes.

Ten thousand numbered names take 53 bytes folded, 24 kB as a compressed list, and one is found among them without
writing them out: searches look into every list of names that decisions speak of.
"""

import re
from collections.abc import Sequence
from typing import Any

_NUMBERED = re.compile(r"^(.*?)(0*[0-9]{1,9})([^0-9]*)$")
_MAX_DIGITS = 255  # of a name


def names_to_runs(names: Sequence[str]) -> list[Any]:
    """Names with runs of numbers folded: ['cmp-', '00', '.lan', 3] is cmp-00.lan to cmp-02.lan."""
    runs: list[Any] = []
    for name in names:
        last = runs[-1] if runs else name
        if not isinstance(last, str) and _name(last, last[3]) == name:
            last[3] += 1
        else:
            found = _NUMBERED.match(name)
            runs.append([found[1], found[2], found[3], 1] if found else name)
    return runs


def names_from_runs(runs: Sequence[Any]) -> tuple[str, ...]:
    """The inverse of `names_to_runs`."""
    names: list[str] = []
    for run in runs:
        names.extend([run] if isinstance(run, str) else (_name(run, offset) for offset in range(run[3])))
    return tuple(names)


def places_in_runs(runs: Sequence[Any], name: str) -> tuple[int, ...]:
    """The places of `name` among the names of `names_to_runs`, whatever the case, without writing them out."""
    wanted, at = name.lower(), 0
    found: list[int] = []
    for run in runs:
        if isinstance(run, str):
            found += [at] if run.lower() == wanted else []
            at += 1
            continue
        offset = _offset_in(run, wanted)
        found += [] if offset is None else [at + offset]
        at += run[3]
    return tuple(found)


def _offset_in(run: list[Any], wanted: str) -> int | None:
    prefix, number, suffix, count = run[0].lower(), run[1], run[2].lower(), run[3]
    middle = wanted[len(prefix) : len(wanted) - len(suffix)]
    if not (middle.isascii() and middle.isdecimal() and wanted == f"{prefix}{middle}{suffix}"):
        return None
    offset = int(middle) - int(number) if len(middle) <= _MAX_DIGITS else -1
    return offset if 0 <= offset < count and middle == f"{int(middle):0{len(number)}d}" else None


def _name(run: list[Any], offset: int) -> str:
    prefix, number, suffix, _ = run
    return f"{prefix}{int(number) + offset:0{len(number)}d}{suffix}"
