"""CPU lists as text, as Nova and libvirt write them: '0-3,^2,8' is 0, 1, 3 and 8."""

from collections.abc import Iterable

from controlplane.kernel.errors import Invalid

# No machine has more; a larger range is a slip, and would be held in memory CPU by CPU.
HIGHEST_CPU = 65535


def cpus_parse(text: str) -> frozenset[int]:
    """The CPUs of a comma list of numbers, ranges and `^` exclusions; none for ''. Raises Invalid."""
    wanted: set[int] = set()
    excluded: set[int] = set()
    for part in filter(None, (each.strip() for each in text.split(","))):
        target = excluded if part.startswith("^") else wanted
        target.update(_range(part.removeprefix("^"), text))
    return frozenset(wanted - excluded)


def cpus_format(cpus: Iterable[int]) -> str:
    """The shortest text that `cpus_parse` reads back: '0-3,8'."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _range(part: str, text: str) -> range:
    first, dash, last = part.partition("-")
    if not (first.isdecimal() and (last.isdecimal() if dash else True)):
        raise Invalid(f"{part[:40]!r} in {text[:80]!r} is no CPU number or range such as 0-3")
    start, end = int(first), int(last or first)
    if start > end or end > HIGHEST_CPU:
        raise Invalid(f"{part[:40]!r} in {text[:80]!r} is no CPU number or range such as 0-3")
    return range(start, end + 1)
