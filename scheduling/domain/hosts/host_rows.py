"""Plain rows from which a host table is made. Whoever reads the database fills these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

ZONE_KEY = "availability_zone"
UNLIMITED = 2**31 - 1
UNKNOWN_TRUST = "unknown"


class InventoryNumbers(Protocol):
    """What a host table takes of one inventory: an InventoryRow, or whatever Placement's snapshot holds."""

    @property
    def total(self) -> int:
        """The whole inventory, before overcommit."""

    @property
    def used(self) -> int:
        """The sum of all allocations."""

    @property
    def reserved(self) -> int:
        """The part of the total that is not for instances."""

    @property
    def allocation_ratio(self) -> float:
        """How many times over the capacity is given out."""

    @property
    def min_unit(self) -> int:
        """The minimum of one allocation."""

    @property
    def max_unit(self) -> int:
        """The maximum of one allocation."""

    @property
    def step_size(self) -> int:
        """The number of which all amounts are multiples."""


@dataclass(frozen=True, slots=True)
class InventoryRow:
    """One resource class of one provider: Placement's inventory and what its allocations use of it."""

    total: int
    used: int = 0
    reserved: int = 0
    allocation_ratio: float = 1.0
    min_unit: int = 1
    max_unit: int = UNLIMITED
    step_size: int = 1


@dataclass(frozen=True, slots=True)
class AggregateRow:
    """An aggregate. `hosts` are service host names; metadata maps text to text."""

    uuid: str
    name: str
    hosts: frozenset[str]
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def availability_zone(self) -> str | None:
        """The zone this aggregate makes, if it makes one."""
        return self.metadata.get(ZONE_KEY) or None


@dataclass(frozen=True, slots=True)
class HostRow:
    """One compute node. `uuid` is its row's and its resource provider's; `instances` are uuids on this host.

    `up` is the service's liveness at the time of the snapshot. `status_detail` is said along with a refusal for
    being disabled or down ('operator: new disks', 'last seen 93 s ago'). Memory, CPU and disk come from
    `inventories` under VCPU, MEMORY_MB and DISK_GB; the free values weighers see are total - reserved - used.
    `num_instances` None means as many as `instances`. `service` is shown to plug-ins as it is. `flavor_ids` are those
    of its instances and `trust_level` is what attestation says; both are told only where the policy asks for them.
    So are `image_properties`: each property of their images with its value, and how many instances have it.
    `numa_topology` and `pci_pools` are as `topology_json` and `pci.codec` write them; None is a host without NUMA.
    """

    host: str
    nodename: str
    uuid: str
    cell_uuid: str = ""
    inventories: Mapping[str, InventoryNumbers] = field(default_factory=dict)
    enabled: bool = True
    up: bool = True
    status_detail: str = ""
    disk_available_least_gib: int | None = None
    num_io_ops: int = 0
    num_instances: int | None = None
    failed_builds: int = 0
    hypervisor_type: str = ""
    hypervisor_version: int = 0
    host_ip: str = ""
    traits: frozenset[str] = frozenset()
    instances: frozenset[str] = frozenset()
    supported_instances: tuple[tuple[str, str, str], ...] = ()
    cpu_info: Mapping[str, Any] = field(default_factory=dict)
    stats: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    service: Mapping[str, Any] = field(default_factory=dict)
    flavor_ids: frozenset[str] = frozenset()
    trust_level: str = UNKNOWN_TRUST
    image_properties: Mapping[tuple[str, str], int] = field(default_factory=dict)
    numa_topology: Mapping[str, Any] | None = None
    pci_pools: Sequence[Mapping[str, Any]] = ()
