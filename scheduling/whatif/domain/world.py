"""The fleet as values at one moment, on which requests are tried without anything being claimed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

from placement.candidates import FleetColumns, ProviderFacts, columns_of
from placement.candidates.columns import FleetView
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_details import NO_DETAILS, HostDetails
from scheduling.domain.hosts.host_rows import AggregateRow, HostRow
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import Destination, ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall, Stopwatch, no_stopwatch
from scheduling.domain.trace.trace import Trace
from scheduling.engine.candidate_set import NodeName, request_candidates
from scheduling.engine.host_table import host_table_from_rows
from scheduling.request_filters import filter_request, surroundings_of
from scheduling.schedulers.run import scheduler_run


@dataclass(frozen=True)
class World:
    """Compute nodes, aggregates and all of Placement's providers, as they were or as an edit makes them.

    Each row's uuid is that of its provider, and its inventories and traits are that provider's: `world_of` sees to it.
    """

    rows: tuple[HostRow, ...]
    aggregates: tuple[AggregateRow, ...]
    providers: Mapping[UUID, ProviderFacts]
    details: HostDetails = NO_DETAILS

    @cached_property
    def table(self) -> HostTable:
        """The host table, made on first use."""
        return replace(host_table_from_rows(self.rows, self.aggregates), details=self.details)

    @cached_property
    def columns(self) -> FleetColumns:
        """Placement's columns, made on first use: each node in the aggregates of its host, as the mirror has it."""
        known = frozenset(UUID(one.uuid) for one in self.aggregates)
        inside: dict[str, set[UUID]] = {}
        for one in self.aggregates:
            for host in one.hosts:
                inside.setdefault(host, set()).add(UUID(one.uuid))
        hosts = {UUID(row.uuid): inside.get(row.host, set()) for row in self.rows}
        return columns_of(_mirrored(facts, known, hosts.get(facts.uuid)) for facts in self.providers.values())

    @cached_property
    def fleet(self) -> FleetView:
        """Which provider is below which, and which shares with which."""
        return self.columns.view()

    @cached_property
    def names(self) -> tuple[NodeName, ...]:
        """Compute nodes as requests name them."""
        return tuple(NodeName(row.host, row.nodename, UUID(row.uuid)) for row in self.rows)

    @cached_property
    def by_host(self) -> Mapping[str, HostRow]:
        """Rows by service host name."""
        return {row.host: row for row in self.rows}

    def row_named(self, name: str) -> HostRow | None:
        """The row whose host or node is called `name`, whatever the case."""
        wanted = name.lower()
        return next((row for row in self.rows if wanted in (row.host.lower(), row.nodename.lower())), None)

    def only(self, hosts: Collection[str]) -> "World":
        """The world of these hosts alone, with all providers that they reach. Each gets the same answer."""
        rows = tuple(row for row in self.rows if row.host in hosts)
        reached = {number for row in rows for number in self.fleet.reached(self.fleet.row_of[UUID(row.uuid)])}
        facts = (self.fleet.fact(number) for number in sorted(reached))
        return World(rows, self.aggregates, {one.uuid: one for one in facts}, self.details)


def _mirrored(facts: ProviderFacts, known: frozenset[UUID], host: set[UUID] | None) -> ProviderFacts:
    """A node's provider with its host's aggregates in place of what it had of them; others stay as they are."""
    if host is None or facts.aggregates & known == host:
        return facts
    return replace(facts, aggregates=(facts.aggregates - known) | host)


def world_of(
    rows: Collection[HostRow], aggregates: Collection[AggregateRow], providers: Mapping[UUID, ProviderFacts]
) -> World:
    """The world of these values; a row without a provider gets an empty one, as Placement does not know it."""
    nodes = {UUID(row.uuid) for row in rows}
    missing = {uuid: ProviderFacts(uuid, uuid, {}) for uuid in nodes - providers.keys()}
    known = {**providers, **missing}
    return World(tuple(with_provider(row, known[UUID(row.uuid)]) for row in rows), tuple(aggregates), known)


def with_provider(row: HostRow, provider: ProviderFacts) -> HostRow:
    """The row with the numbers of its provider."""
    if row.inventories is provider.inventories and row.traits is provider.traits:
        return row
    return replace(row, inventories=provider.inventories, traits=provider.traits)


def world_candidates(world: World, request: ScheduleRequest, policy: Policy) -> CandidateSet | None:
    """What Placement's search says of this world, request filters applied; None for a rebuild, which needs no room."""
    if request.is_rebuild:
        return None
    filtered = filter_request(request, surroundings_of(world.table, policy)).request
    return request_candidates(world.columns, filtered, world.names)


def world_run(
    world: World, request: ScheduleRequest, policy: Policy, *, seed: int = 1, stopwatch: Stopwatch = no_stopwatch
) -> Trace:
    """One run of the whole scheduler on this world: candidates, filters, weights. Nothing is claimed.

    Raises Invalid for a request that contradicts itself, PluginFailed and PluginNotFound.
    """
    candidates = world_candidates(world, request, policy)
    return scheduler_run(ScheduleCall(world.table, request, policy, seed, candidates=candidates, stopwatch=stopwatch))


def aimed_at(request: ScheduleRequest, row: HostRow) -> ScheduleRequest:
    """One instance of the request, wanted on this host and no other; every rule still applies."""
    return replace(
        request,
        instance_uuids=request.instance_uuids[:1],
        min_count=None,
        num_alternates=0,
        requested_destination=Destination(row.host, row.nodename),
    )
