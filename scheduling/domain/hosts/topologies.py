"""NUMA topologies and PCI pools of the host table: read from their JSON once, and changed by a placement."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from computeagent.protocol.topology import HostTopology
from computeagent.protocol.topology_json import host_from_dict, host_to_dict
from controlplane.kernel.reasons import Refusal
from scheduling.domain.columns import Interned
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.resources import MEMORY_MB, VCPU
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.topology.domain.numa.cell_fit import Limits
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.numa.fit import FitNeeds, fit
from scheduling.topology.domain.numa.usage import claim
from scheduling.topology.domain.pci.codec import pools_from_list, pools_to_list
from scheduling.topology.domain.pci.pool import Pools
from scheduling.topology.domain.pci.support import ANYWHERE, consume
from scheduling.topology.domain.pci.support import claim as take
from scheduling.topology.domain.place import place_of

V = TypeVar("V")


class _Same:
    """A value by its identity, since JSON objects have no hash. Invariant: it holds the value, so that its id is not
    used again.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def topology_of(data: Mapping[str, Any] | None) -> HostTopology | None:
    """The topology of a table's value; None for a host without NUMA. Each value is read once."""
    return None if data is None else _topology(_Same(data))


def pools_of_table(data: Sequence[Mapping[str, Any]]) -> Pools:
    """The pools of a table's value. Each value is read once."""
    return _pools(_Same(data)) if data else ()


# Enough for every host of a large fleet to differ from all others: about 5 kB each.
@lru_cache(maxsize=16384)
def _topology(data: _Same) -> HostTopology:
    return host_from_dict(data.value)


@lru_cache(maxsize=16384)
def _pools(data: _Same) -> Pools:
    return pools_from_list(data.value)


def limits_of(table: HostTable, row: int) -> Limits:
    """The overcommit of a host's shared CPUs and memory."""
    cpu, ram = table.inventory(VCPU).allocation_ratio[row], table.inventory(MEMORY_MB).allocation_ratio[row]
    return Limits(float(cpu), float(ram))


def consume_topology(table: HostTable, row: int, request: ScheduleRequest, *, pack: bool = False) -> HostTable:
    """The table after one instance took its cells, CPUs, pages and devices on `row`; `pack` as in the policy.

    As in Nova, what does not fit here (filters may be off, hosts forced) takes nothing: the host's own claim decides.
    """
    guest = guest_topology(request.flavor, request.image)
    if guest is None and not request.pci_requests:
        return table
    host, pools = topology_of(table.numa_topologies[row]), pools_of_table(table.pci_pools[row])
    place = ANYWHERE
    if guest is not None and host is not None:
        limits = limits_of(table, row)
        placed = fit(host, guest, FitNeeds(limits, request.pci_requests, pools, request.networks, pack))
        if isinstance(placed, Refusal):
            return table
        place = place_of(host, placed)
        table = replace(table, numa_topologies=_changed(table.numa_topologies, row, host_to_dict(claim(host, placed))))
    taken = consume(pools, request.pci_requests, place)
    if isinstance(taken, Refusal) or not taken.given:
        return table
    return replace(table, pci_pools=_changed(table.pci_pools, row, pools_to_list(take(pools, taken))))


def _changed(column: Interned[V], row: int, value: V) -> Interned[V]:
    codes = column.codes.copy()
    codes[row] = len(column.values)
    return Interned((*column.values, value), codes)
