"""Pools of like PCI devices, as a host reports them to the scheduler."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.kernel.booleans import is_true


class NumaPolicy(StrEnum):
    """How near a device must be to the guest's NUMA cells.

    required: in one of them. socket: on the same CPU socket. legacy: in one of them, or of unknown place.
    preferred: anywhere, near ones first.
    """

    REQUIRED = "required"
    PREFERRED = "preferred"
    LEGACY = "legacy"
    SOCKET = "socket"


@dataclass(frozen=True, slots=True)
class PciPool:
    """Free devices that differ in nothing a request can ask for. `numa_node` None: the host does not say.

    `address` is the device's, or that of the card its virtual functions belong to. `provider` is the resource
    provider where devices are in Placement. `tags` are pairs such as (physical_network, physnet1), sorted.
    """

    vendor_id: str
    product_id: str
    dev_type: str
    numa_node: int | None
    count: int
    address: str = ""
    provider: str = ""
    tags: tuple[tuple[str, str], ...] = ()

    def value(self, key: str) -> str | None:
        """One property by Nova's name, for comparing with what a request asks for; lower case."""
        known = {"vendor_id": self.vendor_id, "product_id": self.product_id, "dev_type": self.dev_type}
        found = known.get(key) or dict(self.tags).get(key) or (self.address if key == "address" else None)
        return None if found is None else found.lower()

    @property
    def is_remote_managed(self) -> bool:
        """Whether another machine (a SmartNIC) manages it."""
        return is_true(self.value("remote_managed"))


Pools = tuple[PciPool, ...]


@dataclass(frozen=True, slots=True)
class TakenDevices:
    """What a claim took: {position in the pools: devices}. `hidden` are devices that went with them: the virtual
    functions of a physical function that was taken, or the physical function of a virtual one.
    """

    given: tuple[tuple[int, int], ...] = ()
    hidden: tuple[tuple[int, int], ...] = field(default=())

    @property
    def count(self) -> int:
        """How many devices were given."""
        return sum(count for _, count in self.given)

    def at(self) -> Counter[int]:
        """How many each pool lost."""
        return Counter(dict(self.given)) + Counter(dict(self.hidden))


def without(pools: Pools, taken: Mapping[int, int]) -> Pools:
    """The pools after so many devices left each."""
    return tuple(_changed(pool, -taken.get(at, 0)) for at, pool in enumerate(pools))


def free(pools: Pools, taken: TakenDevices) -> Pools:
    """The inverse of a claim, for claims given back in the reverse order.

    Who else holds functions of the same card is known of devices only: see `devices.free`.
    """
    back = taken.at()
    return tuple(_changed(pool, back.get(at, 0)) for at, pool in enumerate(pools))


def count_free(pools: Iterable[PciPool]) -> int:
    """All free devices of some pools."""
    return sum(pool.count for pool in pools)


def count_by_cell(pools: Iterable[PciPool]) -> Counter[int | None]:
    """Free devices of each NUMA cell."""
    found: Counter[int | None] = Counter()
    for pool in pools:
        found[pool.numa_node] += pool.count
    return found


def _changed(pool: PciPool, by: int) -> PciPool:
    if not by:
        return pool
    return PciPool(
        pool.vendor_id,
        pool.product_id,
        pool.dev_type,
        pool.numa_node,
        pool.count + by,
        pool.address,
        pool.provider,
        pool.tags,
    )
