"""The fleet as this process keeps it between looks: it refreshes itself from what changed and never trusts itself.

What other transactions committed before a look is seen by it, and what its own has written. Whether a host is up is
worked out at each look by the database's clock: a heartbeat only moves the last one on, so one that was read before
proves life until it is too old, and then the newest is asked for. Claims decide in the end, whatever is kept here.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress, count
from operator import is_not
from uuid import UUID

from placement.candidates import ProviderFacts
from placement.candidates.columns import FleetView
from scheduling.domain.hosts.host_rows import UNKNOWN_TRUST, AggregateRow, HostRow
from scheduling.domain.hosts.host_table import HostTable
from scheduling.engine.candidate_set import NodeName
from scheduling.fleet.cache.changes import ChangeFeed, ChangePoll, change_feed
from scheduling.fleet.cache.host_rows import host_row, provider_of, stats_with
from scheduling.fleet.cache.host_states import HostStates
from scheduling.fleet.cache.incremental_host_table import IncrementalHostTable
from scheduling.fleet.cache.records import FleetRecords
from scheduling.fleet.facts import NO_METRICS, NOTHING, FleetFacts, HostInstances

SUBSCRIBER = "fleet"
KINDS = ("node", "service", "mapping", "cell", "aggregate")
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Fleet:
    """Who is there, before Placement is asked. `min_service_version`: of those that are not forced down."""

    names: Sequence[NodeName]
    uuids: dict[UUID, str]
    aggregates: Sequence[AggregateRow]
    min_service_version: int


@dataclass(frozen=True, slots=True)
class FleetRead:
    """The hosts with what Placement and the facts say of them: `rows` are those of the table, in its order."""

    table: HostTable
    rows: Sequence[HostRow]


class FleetCache:
    """One per process (`fleet_cache`); safe to share between threads. What it hands out never changes afterwards."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._lock = threading.Lock()
        self._polled_at = _NEVER
        self._records = FleetRecords()
        self._states = HostStates()
        self._table = IncrementalHostTable((), ())
        self._fleet = Fleet((), {}, (), 0)
        self._providers: list[ProviderFacts] = []
        self._seen_of_placement: tuple[ProviderFacts | None, ...] = ()
        self._facts = FleetFacts()
        self._here: list[HostInstances] = []

    def poll_changes(self) -> ChangePoll:
        """Ask what changed, for `refreshed` and for others who go by the same feed. One query."""
        return self._feed.read(silent=self._states.silent)

    @contextmanager
    def refreshed(self, poll: ChangePoll, *, max_age_s: float = 0.0) -> Iterator[Fleet]:
        """The fleet as of `poll`, held as it is until the block ends: Placement is read inside, then `table`.

        `max_age_s`: changes of nodes, services and aggregates that are younger than this many seconds may be missing.
        """
        # One lock around both steps: were the fleet refreshed between them, the candidates that Placement found would
        # be those of other hosts than the table has, and a host that is new would look as if it had one.
        with self._lock:
            now = time.monotonic()
            if now - self._polled_at > max_age_s:
                self._refresh(poll)
                self._polled_at = now
            yield self._fleet

    def table(self, view: FleetView, facts: FleetFacts) -> FleetRead:
        """The hosts with these numbers of Placement and of instances. Call it inside `refreshed`."""
        touched = self._take_providers(view) | self._take_facts(facts)
        self._table.put({at: self._with_numbers(at) for at in touched})
        return FleetRead(self._table.table, tuple(self._table.rows))

    def _refresh(self, poll: ChangePoll) -> None:
        changes = self._feed.changes_for(SUBSCRIBER, KINDS)
        records = self._records = FleetRecords() if changes.everything else self._records
        records.read(changes)
        touched = None if changes.everything else self._states.rejoin(records, changes)
        if touched is None:
            self._build()
        elif changes.of("aggregate"):
            self._table.put_aggregates(records.aggregates.values())
        dirty = self._states.refresh(records, poll, touched)
        self._table.put({at: self._whole(at) for at in dirty})
        table = self._table.table
        self._fleet = replace(self._fleet, aggregates=table.aggregates, min_service_version=table.min_service_version)

    def _build(self) -> None:
        """All rows anew; Placement and facts are compared with all of them afterwards."""
        self._states = HostStates(self._records)
        hosts = self._states.hosts
        names = tuple(NodeName(one.node.host, one.node.hypervisor_hostname, one.node.id) for one in hosts)
        self._providers = [ProviderFacts(name.uuid, name.uuid, {}) for name in names]
        self._seen_of_placement = ()
        self._facts, self._here = FleetFacts(), [NOTHING] * len(names)
        rows = [
            host_row(one.node, one.service, one.cell, provider=provider, here=NOTHING, is_up=False, detail="")
            for one, provider in zip(hosts, self._providers, strict=True)
        ]
        self._table = IncrementalHostTable(rows, self._records.aggregates.values())
        self._fleet = Fleet(names, {name.uuid: str(name.uuid) for name in names}, (), 0)

    def _whole(self, at: int) -> HostRow:
        """The row by all that is known."""
        host = self._states.hosts[at]
        return host_row(
            host.node,
            host.service,
            host.cell,
            provider=self._providers[at],
            here=self._here[at],
            is_up=bool(self._states.up[at]),
            detail=self._states.detail(at),
            trust=self._trust(at),
            metrics=self._metrics(at),
        )

    def _with_numbers(self, at: int) -> HostRow:
        """The row with what Placement and the facts say now; the rest is as it was."""
        provider, here = self._providers[at], self._here[at]
        return replace(
            self._table.rows[at],
            inventories=provider.inventories,
            traits=provider.traits,
            num_io_ops=here.num_io_ops,
            num_instances=here.num_instances,
            instances=here.instance_uuids,
            flavor_ids=here.flavor_ids,
            image_properties=here.image_properties,
            stats=stats_with(self._states.hosts[at].node.stats, here),
            metrics=self._metrics(at),
            trust_level=self._trust(at),
        )

    def _metrics(self, at: int) -> Mapping[str, float]:
        return self._facts.metrics.get(self._fleet.names[at].nodename, NO_METRICS)

    def _trust(self, at: int) -> str:
        return self._facts.trust_levels.get(self._fleet.names[at].nodename, UNKNOWN_TRUST)

    def _take_providers(self, fleet: FleetView) -> set[int]:
        """Rows whose provider is another object now: whatever changes about one, another takes its place."""
        before, self._seen_of_placement = self._seen_of_placement, fleet.facts
        touched: set[int] = set()
        for facts in _differing(before, fleet.facts):
            at = self._states.at_of.get(facts.uuid)
            if at is not None:
                provider = provider_of(fleet, facts.uuid)
                if provider is not self._providers[at]:
                    self._providers[at] = provider
                    touched.add(at)
        return touched

    def _take_facts(self, facts: FleetFacts) -> set[int]:
        """Rows of which something else is told than before."""
        touched: set[int] = set()
        old, self._facts = self._facts, facts
        if facts.hosts is not old.hosts:
            here = [facts.hosts.get(name.host, NOTHING) for name in self._fleet.names]
            touched.update(compress(count(), map(is_not, here, self._here)))
            self._here = here
        if facts.trust_levels is not old.trust_levels and (facts.trust_levels or old.trust_levels):
            touched.update(range(len(self._here)))
        if facts.metrics is not old.metrics and (facts.metrics or old.metrics):
            nodes = [name.nodename for name in self._fleet.names]
            touched.update(at for at, node in enumerate(nodes) if facts.metrics.get(node) != old.metrics.get(node))
        return touched


def _differing(before: Sequence[ProviderFacts | None], now: Sequence[ProviderFacts | None]) -> Iterator[ProviderFacts]:
    """Providers of either side that stand at a place where the other has something else."""
    for at in compress(count(), map(is_not, before, now)):
        yield from (each for each in (before[at], now[at]) if each is not None)
    shared = min(len(before), len(now))
    yield from (each for each in (*before[shared:], *now[shared:]) if each is not None)


_CACHE = FleetCache(change_feed())


def fleet_cache() -> FleetCache:
    """This process's fleet."""
    return _CACHE
