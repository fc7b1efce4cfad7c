"""Small worlds of providers for tests: trees, devices, shared pools, and the host rows that belong to them."""

from typing import Any
from uuid import UUID

from placement.candidates import ProviderFacts, columns_of
from placement.candidates.facts import SHARING_TRAIT
from placement.domain import InventoryUsage, capacity_of
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.engine import CandidateSet, HostRow, HostTable, ScheduleRequest, candidate_set
from tests.units.scheduling.worlds import host, run, table

ROOM = {"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 500}
POOL = UUID(int=900)


def usage(total: int, used: int = 0, *, ratio: float = 1.0) -> InventoryUsage:
    """An inventory of `total` that gives any part of itself."""
    capacity = capacity_of(total=total, reserved=0, allocation_ratio=ratio)
    return InventoryUsage(total, 0, ratio, used, capacity, 1, 2**31 - 1, 1)


def root(number: int, *, aggregates: tuple[UUID, ...] = (), traits: tuple[str, ...] = (), **room: Any) -> ProviderFacts:
    """The provider of compute node `number`; 16 vCPUs, 32 GiB, 500 GB unless `room` says otherwise."""
    given = room or ROOM
    inventories = {name: one if isinstance(one, InventoryUsage) else usage(one) for name, one in given.items()}
    uuid = UUID(int=number)
    return ProviderFacts(uuid, uuid, inventories, frozenset(traits), frozenset(aggregates))


def child(number: int, of: ProviderFacts, *, traits: tuple[str, ...] = (), **room: Any) -> ProviderFacts:
    """A provider below the root `of`."""
    inventories = {name: one if isinstance(one, InventoryUsage) else usage(one) for name, one in room.items()}
    return ProviderFacts(UUID(int=number), of.uuid, inventories, frozenset(traits), frozenset(), of.uuid)


def pool(number: int, **room: Any) -> ProviderFacts:
    """A provider that shares with the members of the aggregate POOL."""
    return root(number, aggregates=(POOL,), traits=(SHARING_TRAIT,), **room)


def hosts_of(*roots: ProviderFacts) -> HostTable:
    """The host table of these compute nodes: host-<number>, with the inventories and traits of their roots."""
    return table(*(_row(one) for one in roots))


def _row(one: ProviderFacts) -> HostRow:
    return host(f"host-{one.uuid.int}", uuid=str(one.uuid), inventories=one.inventories, traits=one.traits)


def found(
    asked: ScheduleRequest,
    roots: tuple[ProviderFacts, ...],
    *others: ProviderFacts,
    target: UUID | None = None,
    unknown: tuple[ProviderFacts, ...] = (),
) -> CandidateSet:
    """What the search says of the compute nodes `roots`; `others` are all other providers.

    `unknown` are compute nodes that Placement does not have.
    """
    query = candidate_query(asked, resource_request(asked), in_tree=target)
    nodes = {one.uuid: str(one.uuid) for one in (*roots, *unknown)}
    return candidate_set(columns_of((*roots, *others)), query, nodes, target=target)


def schedule_on(asked: ScheduleRequest, roots: tuple[ProviderFacts, ...], *others: ProviderFacts, **more: Any) -> Any:
    """One run with candidates, under a policy without filters."""
    candidates = found(asked, roots, *others, target=more.pop("target", None))
    return run(hosts_of(*roots), asked, candidates=candidates, **more)
