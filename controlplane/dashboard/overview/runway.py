"""How long what is left lasts, at the pace of the last weeks."""

from collections.abc import Mapping
from dataclasses import dataclass

from placement.selectors import ResourceSum
from servers.instances.selectors.living import Living

MIN_AGE_DAYS = 1.0
LONG_DAYS = 730.0
RESOURCES = ("VCPU", "MEMORY_MB")


@dataclass(frozen=True, slots=True)
class Runway:
    """Of one resource class: `days` None means that no end is in sight; `a_day` is the pace."""

    resource: str
    free: int
    a_day: float
    days: float | None


def runways(counted: Living, usage: Mapping[str, ResourceSum]) -> list[Runway]:
    """The one that ends first, first. None of an installation that is too young to have a pace."""
    if counted.age_days < MIN_AGE_DAYS:
        return []
    found = []
    for name in RESOURCES:
        if name in usage:
            pace = counted.grown.get(name, 0) / counted.age_days
            days = usage[name].free / pace if pace > 0 else None
            found.append(Runway(name, usage[name].free, pace, days if days is not None and days < LONG_DAYS else None))
    return sorted(found, key=lambda one: LONG_DAYS if one.days is None else one.days)
