"""What is measured, and the goals: ratios to Nova's median on the same machine, or milliseconds of our own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from uuid import UUID

from bench.scheduler.fleet import POLICIES, aggregates, request, rows
from bench.scheduler.providers import providers
from placement.candidates import FleetColumns
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import (
    CandidateSet,
    HostTable,
    InventoryRow,
    Outcome,
    candidate_set,
    host_table_from_rows,
    schedule,
)
from scheduling.fleet.cache.incremental_host_table import IncrementalHostTable

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Goal:
    """At least so many times faster than Nova, or at most so many milliseconds, or both."""

    ratio: float | None = None
    max_ms: float | None = None

    def is_met(self, ours: float, nova: float | None) -> bool | None:
        """None if it cannot be said without Nova's side."""
        if self.ratio is not None and nova is None:
            return None
        fast = self.ratio is None or (nova is not None and nova >= self.ratio * ours)
        return fast and (self.max_ms is None or ours <= self.max_ms)

    def __str__(self) -> str:
        parts = [] if self.ratio is None else [f"{self.ratio:g} times"]
        return ", ".join([*parts, *([] if self.max_ms is None else [f"{self.max_ms:g} ms"])])


NO_GOAL = Goal()


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table. `nova` is the case of its script, "" where Nova has no such thing."""

    name: str
    config: str
    make: Callable[["World"], Work]
    request: str = "plain"
    nova: str = ""
    goals: Mapping[int, Goal] = field(default_factory=dict)
    nova_max_hosts: int = 1_000


class World:
    """The fleet of one size and configuration: its table, and Placement's columns of the same hosts."""

    def __init__(self, hosts: int, config: str) -> None:
        self.count = hosts
        self.config = config
        fleet = rows(hosts, config)
        self.table: HostTable = host_table_from_rows(fleet, aggregates(hosts))
        self.columns: FleetColumns = providers(fleet)
        self.nodes = {UUID(text): text for text in self.table.uuids}

    def candidates(self, name: str) -> CandidateSet:
        """What Placement says of one request."""
        asked = request(name)
        return candidate_set(self.columns, candidate_query(asked, resource_request(asked)), self.nodes)


def _scheduled(name: str, instances: int, world: World) -> Work:
    """The engine with Placement's candidates, as in a real decision: filters, weighers, choice, the whole trace."""
    asked, policy = request(name, instances), POLICIES[world.config]
    run = partial(schedule, ScheduleCall(world.table, asked, policy, 1, candidates=world.candidates(name)))
    assert run().outcome is Outcome.SELECTED
    return run


def _built(world: World) -> Work:
    fleet, sets = rows(world.count, world.config), aggregates(world.count)
    return lambda: host_table_from_rows(fleet, sets)


def _unchanged(world: World) -> Work:
    incremental = IncrementalHostTable(rows(world.count, world.config), aggregates(world.count))

    def read() -> HostTable:
        incremental.put({})
        return incremental.table

    return read


def _one_changed(world: World) -> Work:
    """As after a claim on one host."""
    incremental = IncrementalHostTable(rows(world.count, world.config), aggregates(world.count))
    numbers = count()

    def read() -> HostTable:
        number = next(numbers)
        row = incremental.rows[number % world.count]
        vcpu = InventoryRow(64, used=number % 64, allocation_ratio=4.0)
        incremental.put({number % world.count: replace(row, inventories={**row.inventories, "VCPU": vcpu})})
        return incremental.table

    return read


def _one(name: str) -> Callable[[World], Work]:
    return partial(_scheduled, name, 1)


def _ten(name: str) -> Callable[[World], Work]:
    return partial(_scheduled, name, 10)


def _pair(label: str, config: str, name: str, one: Goal, *, also_ten: bool = True) -> list[Case]:
    cases = [Case(f"{label}: one", config, _one(name), name, "sorted", {1_000: one})]
    return [*cases, Case(f"{label}: ten", config, _ten(name), name, "multi_create_10")] if also_ten else cases


CASES: tuple[Case, ...] = (
    Case(
        "filter and weigh: one",
        "default",
        _one("plain"),
        nova="sorted",
        goals={1_000: Goal(40), 10_000: Goal(150, 7), 100_000: Goal(max_ms=70)},
        nova_max_hosts=10_000,
    ),
    Case(
        "filter and weigh: ten, consuming",
        "default",
        _ten("plain"),
        nova="multi_create_10",
        goals={1_000: Goal(60), 10_000: Goal(150)},
        nova_max_hosts=10_000,
    ),
    Case("host states from rows, anew", "default", _built, nova="host_states", nova_max_hosts=10_000),
    Case(
        "host states, nothing changed",
        "default",
        _unchanged,
        nova="host_states",
        goals={1_000: Goal(max_ms=0.1)},
        nova_max_hosts=10_000,
    ),
    Case("host states, one host changed", "default", _one_changed, nova="host_states", nova_max_hosts=10_000),
    Case("plug-in, host by host: one", "plugin", _one("plain"), nova="sorted", goals={1_000: Goal(1)}),
    Case("plug-in, host by host: ten", "plugin", _ten("plain"), nova="multi_create_10", goals={1_000: Goal(1)}),
    Case("host states from rows, anew, NUMA", "extra", _built, nova="host_states"),
    *_pair("NUMA, PCI, extra specs; plain", "extra", "plain", Goal(40)),
    *_pair("aggregate extra spec ssd", "extra", "agg_extra_spec", NO_GOAL),
    *_pair("hw:numa_nodes=2", "extra", "numa_2_nodes", NO_GOAL),
    *_pair("one PCI GPU", "extra", "pci_gpu", NO_GOAL),
    *_pair("hw:cpu_policy=dedicated", "extra_pinned", "pinned", Goal(10)),
    Case("dedicated, no two hosts alike: one", "extra_differ", _one("pinned")),
    Case("dedicated, no two hosts alike: ten", "extra_differ", _ten("pinned")),
)
