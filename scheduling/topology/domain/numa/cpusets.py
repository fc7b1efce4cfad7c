"""CPU lists as text: '0-3,^2,8' is 0, 1, 3 and 8."""

from collections.abc import Iterable
from functools import lru_cache

from controlplane.kernel.errors import Invalid

# No machine has more; a larger range is a slip, and would be held in memory CPU by CPU.
HIGHEST_CPU = 65535


# Hosts of one model repeat the same few texts: parsed once, the sets are shared.
@lru_cache(maxsize=4096)
def parse_cpus(text: str, field: str | None = None) -> frozenset[int]:
    """The CPUs of a comma list of numbers, ranges and `^` exclusions. Raises Invalid, naming `field`."""
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
    first, _, last = part.partition("-")
    try:
        start, end = int(first), int(last or first)
    except ValueError as error:
        raise _bad(part, text, field) from error
    if start > end or end > HIGHEST_CPU or part.endswith("-"):
        raise _bad(part, text, field)
    return range(start, end + 1)


def _bad(part: str, text: str, field: str | None) -> Invalid:
    named = f"{field}: " if field else ""
    return Invalid(f"{named}{part!r} in {text!r} is no CPU number or range such as 0-3", field=field)
