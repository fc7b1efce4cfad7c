"""CPU lists as text, as Nova and libvirt write them: '0-3,^2,8' is 0, 1, 3 and 8."""

from collections.abc import Iterable
from functools import lru_cache

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

MAX_CPU = 65535
"""No machine and no guest has more; a larger range is a slip, and would be held in memory CPU by CPU."""
MAX_DIGITS = 5


# Hosts of one model repeat the same few texts: parsed once, the sets are shared.
@lru_cache(maxsize=4096)
def parse_cpus(text: str, field: str | None = None) -> frozenset[int]:
    """The CPUs of a comma list of numbers, ranges and `^` exclusions; none for ''. Blanks and empty parts are ignored.

    Raises Invalid, naming `field`.
    """
    wanted: set[int] = set()
    excluded: set[int] = set()
    for part in filter(None, (each.strip() for each in text.split(","))):
        target = excluded if part.startswith("^") else wanted
        target.update(_range(part.removeprefix("^"), text, field))
    return frozenset(wanted - excluded)


def parse_mask(text: str, count: int, field: str) -> frozenset[int]:
    """As `parse_cpus`, for a guest of `count` vCPUs: a mask that starts with `^` means all except."""
    if text.strip().startswith("^"):
        return parse_cpus(f"0-{count - 1},{text}", field)
    return parse_cpus(text, field)


def is_cpu_list(text: str) -> bool:
    """Whether `parse_cpus` reads it and it is written strictly: without blanks and without empty parts."""
    if not all(text.split(",")) or any(each.isspace() for each in text):
        return False
    try:
        parse_cpus(text)
    except Invalid:
        return False
    return True


def format_cpus(cpus: Iterable[int]) -> str:
    """The shortest text that `parse_cpus` reads back: '0-3,8'."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _range(part: str, text: str, field: str | None) -> range:
    first, dash, last = (each.strip() for each in part.partition("-"))
    ends = [_number(each) for each in ([first, last] if dash else [first])]
    start, end = ends[0], ends[-1]
    if start is None or end is None or start > end:
        named = f"{field}: " if field else ""
        raise Invalid(
            _(
                "{named}{part!r} in {text!r} is no CPU number or range such as 0-3",
                named=named,
                part=part[:40],
                text=text[:80],
            ),
            field=field,
        )
    return range(start, end + 1)


def _number(text: str) -> int | None:
    """A CPU's number; None for anything else, so also for signs, digits of other scripts and too large numbers."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        return None
    return int(text) if int(text) <= MAX_CPU else None
