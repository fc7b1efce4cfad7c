"""The fleet as a map: every compute node with its size, its state and one measure, in groups."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.kernel.natural import natural_key


class Heat(StrEnum):
    """What colours a node: how much of a class is promised, how busy its CPUs are, or how many of a flavor fit."""

    MEMORY = "memory"
    VCPUS = "vcpus"
    DISK = "disk"
    CPU = "cpu"
    FITS = "fits"


class Grouping(StrEnum):
    """What stands together. A node of several aggregates stands in each of them."""

    ZONE = "zone"
    AGGREGATE = "aggregate"
    NONE = "none"


RESOURCE_CLASSES: Mapping[Heat, str] = {Heat.MEMORY: "MEMORY_MB", Heat.VCPUS: "VCPU", Heat.DISK: "DISK_GB"}


@dataclass(frozen=True, slots=True)
class MapHost:
    """One compute node. `used` and `capacity` are of the class that was asked for, `cpu_percent` is what its agent
    measured lately; `fits` is how many more of the flavor fit, and `limit` what stops one more. None: not known.
    """

    host: str
    node: str
    zone: str
    aggregates: tuple[str, ...]
    memory_mib: int
    running_guests: int
    is_up: bool
    is_disabled: bool
    is_forced_down: bool = False
    used: int | None = None
    capacity: int | None = None
    cpu_percent: float | None = None
    fits: int | None = None
    fits_is_lower_bound: bool = False
    limit: str = ""

    @property
    def part(self) -> float | None:
        """How full or busy it is, 1 for all of it; more where more is promised than may be. None: not known."""
        if self.cpu_percent is not None:
            return self.cpu_percent / 100
        if self.used is None or not self.capacity:
            return None
        return self.used / self.capacity


@dataclass(frozen=True, slots=True)
class MapGroup:
    """Nodes that stand together, in natural order. Sums leave out nodes that are down: nothing can be built there."""

    name: str
    hosts: tuple[MapHost, ...]

    @property
    def down(self) -> int:
        """How many are down."""
        return sum(not one.is_up for one in self.hosts)

    @property
    def disabled(self) -> int:
        """How many are up, and disabled for new instances."""
        return sum(one.is_up and one.is_disabled for one in self.hosts)

    @property
    def used(self) -> int:
        """Of the class, on those that are up."""
        return _sum(self.hosts, lambda one: one.used)

    @property
    def capacity(self) -> int:
        """The same, of what may be promised."""
        return _sum(self.hosts, lambda one: one.capacity)

    @property
    def fits(self) -> int:
        """How many more of the flavor fit on them."""
        return _sum(self.hosts, lambda one: one.fits)

    @property
    def memory_mib(self) -> int:
        """Of all of them, down or not."""
        return sum(one.memory_mib for one in self.hosts)


def map_groups(hosts: Sequence[MapHost], grouping: Grouping) -> list[MapGroup]:
    """The groups by name; those that belong to none come last, under an empty name."""
    found: dict[str, list[MapHost]] = {}
    for one in hosts:
        for name in _names(one, grouping):
            found.setdefault(name, []).append(one)
    ordered = sorted(found, key=lambda name: (not name, natural_key(name)))
    return [MapGroup(name, tuple(found[name])) for name in ordered]


def with_room(hosts: Iterable[MapHost], rooms: Mapping[str, "RoomOnNode"]) -> list[MapHost]:
    """The nodes with the room for a flavor, by node name; of one that is not known nothing is said."""
    return [
        replace(one, fits=found.fits, fits_is_lower_bound=found.is_lower_bound, limit=found.limit)
        if (found := rooms.get(one.node)) is not None
        else one
        for one in hosts
    ]


@dataclass(frozen=True, slots=True)
class RoomOnNode:
    """How many more of a flavor one node takes. `fits` None: the count was cut off before it came to this node."""

    fits: int | None
    is_lower_bound: bool = False
    limit: str = ""


def _names(one: MapHost, grouping: Grouping) -> Sequence[str]:
    if grouping is Grouping.ZONE:
        return (one.zone,)
    return one.aggregates or ("",) if grouping is Grouping.AGGREGATE else ("",)


def _sum(hosts: Iterable[MapHost], number: Callable[[MapHost], int | None]) -> int:
    return sum(number(one) or 0 for one in hosts if one.is_up)
