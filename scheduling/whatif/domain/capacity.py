"""How many more instances of a flavor fit: by columns, and checked by the engine's own filters.

Room is a division. What else limits a host may depend on how full it is (at most so many instances, guests under
way ...), and a plug-in may read anything; so the filters are asked about the table as it would be with that many
more instances on every host at once, and where one refuses, the number is halved in until it does not. That is right
for every filter that refuses a fuller host when it refuses an emptier one. The last run, on the table with all of
them, must refuse every host: its reasons are what binds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import BoolArray, IntArray
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import DEFAULT_SCHEDULER, Policy
from scheduling.domain.request.resources import DISK_GB, MEMORY_MB, VCPU, ResourceRequest, resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.engine.schedule import schedule
from scheduling.schedulers.registry import policy_plugins
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.whatif.domain.world import World, world_candidates, world_run

MAX_BY_RUN = 256
"""Hosts whose room is in nested or shared providers are counted by placing one after the other: at most so many."""

_CLASS_OF = {RefusalReason.VCPU_SHORT: VCPU, RefusalReason.RAM_SHORT: MEMORY_MB, RefusalReason.DISK_SHORT: DISK_GB}


@dataclass(frozen=True, slots=True)
class ZoneCapacity:
    """How many more fit into a zone, or everywhere. `binds` is what most of its hosts run out of first.

    `n_plus_1` is what is left of `count` if the zone is to survive the loss of `largest_host` (the one with the most
    of this flavor in it and free): what it has free is lost, and what it holds must move to the others.
    `limits` counts hosts by what stops one more. `is_lower_bound`: there may be more, the count was cut off.
    """

    count: int = 0
    n_plus_1: int = 0
    hosts: int = 0
    hosts_with_room: int = 0
    binds: str | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    largest_host: str | None = None
    is_lower_bound: bool = False


@dataclass(frozen=True, slots=True)
class FlavorCapacity:
    """The room for one flavor, in all and by zone."""

    total: ZoneCapacity
    zones: Mapping[str, ZoneCapacity]


@dataclass(frozen=True, slots=True)
class RowCapacity:
    """How many more fit on one compute node, and what stops one more. `is_lower_bound`: the count was cut off."""

    host: str
    node: str
    count: int
    limit: str
    is_lower_bound: bool


def capacity(world: World, request: ScheduleRequest, policy: Policy) -> FlavorCapacity:
    """How many more instances like the first of `request` fit, one request after the other.

    Raises Invalid for a flavor that contradicts itself or asks for nothing.
    """
    return _count(world, request, policy).answer()


def capacity_by_row(world: World, request: ScheduleRequest, policy: Policy) -> tuple[RowCapacity, ...]:
    """The same count, node by node. Raises as `capacity` does."""
    return _count(world, request, policy).rows()


def _count(world: World, request: ScheduleRequest, policy: Policy) -> "_Count":
    one = replace(request, instance_uuids=request.instance_uuids[:1], min_count=None, num_alternates=0)
    # How many fit is a matter of filters; the scheduler matters only if it goes by others than the policy names.
    lean = replace(
        policy_plugins(policy),
        scheduler=DEFAULT_SCHEDULER,
        weighers=(),
        host_subset_size=1,
        shuffle_best_same_weighed_hosts=False,
    )
    return _Count(world, one, lean)


class _Count:
    """The counting for one flavor."""

    def __init__(self, world: World, request: ScheduleRequest, policy: Policy) -> None:
        self.world = world
        self.table = world.table
        self.request = request
        self.policy = policy
        self.resources = resource_request(request)
        self.amounts = self.resources.amounts
        self.is_spread = _spread(world, self.resources)
        # What cells, pinned CPUs and devices leave is no division either.
        if guest_topology(request.flavor, request.image) is not None or request.pci_requests:
            self.is_spread[:] = True
        self.candidates = world_candidates(world, request, policy) if self.is_spread.any() or self._is_split() else None

    def answer(self) -> FlavorCapacity:
        """The room in each zone and in all together."""
        rows = self._zones()
        counts, limits, is_bound = self._counted(rows)
        held = _held(self.table, self.amounts)
        zones = {zone: self._room(rows[zone], counts, held, limits, is_bound) for zone in rows}
        return FlavorCapacity(_total(zones), zones)

    def rows(self) -> tuple[RowCapacity, ...]:
        """The room on each node."""
        counts, limits, is_bound = self._counted(self._zones())
        names = limits.names()
        columns = zip(counts.tolist(), limits.codes.tolist(), is_bound.tolist(), strict=True)
        return tuple(
            RowCapacity(self.table.hosts[row], self.table.nodes[row], count, names[code], is_lower_bound)
            for row, (count, code, is_lower_bound) in enumerate(columns)
        )

    def _counted(self, zones: Mapping[str, IntArray]) -> "tuple[IntArray, _Limits, BoolArray]":
        """By row: how many more fit, what stops one more, and whether that was cut off."""
        counts = np.where(self.is_spread, 0, self._counts())
        limits = self._limits(counts)
        return counts, limits, self._min_of(zones, counts, limits)

    def _zones(self) -> dict[str, IntArray]:
        """The rows of each zone."""
        default = self.policy.options.default_availability_zone
        names = np.array([zone or default for zone in self.table.zones.values] or [default], dtype=object)
        zone_of = names[self.table.zones.codes]
        return {str(zone): np.flatnonzero(zone_of == zone) for zone in sorted(set(zone_of.tolist()))}

    def _min_of(self, zones: Mapping[str, IntArray], counts: IntArray, limits: "_Limits") -> BoolArray:
        """Counts the rows whose room is not in one provider, and gives those that may take more still.

        A zone that a cut off count did not reach is counted by itself, so that "at least 0" is nowhere said. Not where
        hosts share a pool: what other zones take of it would count twice.
        """
        is_bound = np.zeros(len(counts), dtype=np.bool_)
        if not self.is_spread.any():
            return is_bound
        is_bound[self.is_spread] = self._by_run(np.flatnonzero(self.is_spread), MAX_BY_RUN, counts, limits)
        for rows in zones.values():
            open_rows = rows[is_bound[rows]]
            if open_rows.size and not counts[rows].any() and not self.world.fleet.served:
                maximum = max(MAX_BY_RUN // len(zones), MAX_BY_RUN // 16)
                is_bound[open_rows] = self._by_run(open_rows, maximum, counts, limits)
        return is_bound

    def _is_split(self) -> bool:
        """Several groups, traits of groups, or trees: the search decides who fits at all."""
        return not self.world.fleet.trees.is_flat or len(self.resources.groups) > 1

    def _passing(self, table: HostTable) -> tuple[BoolArray, Trace]:
        """Which hosts take one more, by the whole scheduler."""
        candidates = self.candidates if table is self.table else None
        trace = schedule(ScheduleCall(table, self.request, self.policy, 1, candidates=candidates))
        passing = np.zeros(len(table), dtype=np.bool_)
        ranking = trace.rounds[0].ranking
        if ranking is not None:
            passing[ranking.rows] = True
        return passing, trace

    def _counts(self) -> IntArray:
        """By row: the room where the host passes at all, halved in where a filter refuses the fuller host."""
        passing, _ = self._passing(self.table)
        high = np.where(passing & ~self.is_spread, _rooms(self.table, self.amounts), 0)
        low, probe = np.minimum(high, 1), high
        while (low < high).any():
            is_open = low < high
            passes, _ = self._passing(self._filled(np.maximum(probe - 1, 0)))
            low, high = np.where(is_open & passes, probe, low), np.where(is_open & ~passes, probe - 1, high)
            probe = (low + high + 1) // 2
        return low

    def _filled(self, counts: IntArray) -> HostTable:
        """The table with so many more instances on each host."""
        table, flavor = self.table, self.request.flavor
        used = {
            name: replace(columns, used=columns.used + counts * self.amounts.get(name, 0))
            for name, columns in table.inventories.items()
        }
        return replace(
            table,
            free_ram_mb=table.free_ram_mb - counts * flavor.memory_mib,
            free_disk_mb=table.free_disk_mb - counts * (flavor.root_gib + flavor.ephemeral_gib) * 1024,
            vcpus_used=table.vcpus_used + counts * flavor.vcpus,
            num_instances=table.num_instances + counts,
            num_io_ops=table.num_io_ops + counts,
            inventories=used,
        )

    def _by_run(self, rows: IntArray, maximum: int, counts: IntArray, reasons: "_Limits") -> bool:
        """Place one after the other on these hosts, at most so many; adds to `counts` and `reasons`.

        Gives whether that was cut off.
        """
        hosts = {self.table.hosts[row] for row in rows.tolist()}
        uuids = tuple(f"{self.request.instance_uuids[0]}-{number}" for number in range(maximum))
        world = self.world.only(hosts)
        trace = world_run(world, replace(self.request, instance_uuids=uuids, min_count=1), self.policy)
        for one in trace.selections:
            counts[self.table.row_by_uuid[one.selected.compute_node_uuid]] += 1
        for row, refusal in trace.refusals():
            reasons.put(self.table.row_by_uuid[world.table.uuids[row]], refusal)
        return len(trace.selections) == maximum

    def _limits(self, counts: IntArray) -> "_Limits":
        """By row: what stops one more instance."""
        _, trace = self._passing(self._filled(counts))
        limits = _Limits(len(self.table))
        for group in trace.rounds[0].refusals:
            limits.put(group.rows, group.refusal)
        return limits

    def _room(
        self, rows: IntArray, counts: IntArray, held: IntArray, limits: "_Limits", is_bound: BoolArray
    ) -> ZoneCapacity:
        here, table = counts[rows], self.table
        is_full = (here > 0) | np.isin(limits.codes[rows], limits.codes_of(self.amounts))
        all_limits = limits.counted(rows)
        load = np.where(table.enabled[rows] & table.up[rows], here + held[rows], here)
        largest = int(load.argmax())
        return ZoneCapacity(
            count=int(here.sum()),
            n_plus_1=max(0, int(here.sum() - load[largest])),
            hosts=len(rows),
            hosts_with_room=int(np.count_nonzero(here)),
            binds=next(iter(limits.counted(rows[is_full]) or all_limits), None),
            limits=all_limits,
            largest_host=table.hosts[int(rows[largest])] if load[largest] else None,
            is_lower_bound=bool(is_bound[rows].any()),
        )


class _Limits:
    """What stops one more instance on each row, as a resource class or a reason's code."""

    def __init__(self, count: int) -> None:
        self.codes: IntArray = np.zeros(count, dtype=np.int64)
        self._names: dict[str, int] = {"": 0}

    def put(self, rows: IntArray | int, refusal: Refusal) -> None:
        self.codes[rows] = self._names.setdefault(_limit(refusal), len(self._names))

    def names(self) -> list[str]:
        """By code; nothing stops the rows of code 0."""
        return list(self._names)

    def codes_of(self, names: Iterable[str]) -> list[int]:
        return [self._names[name] for name in names if name in self._names]

    def counted(self, rows: IntArray) -> dict[str, int]:
        """How many of these rows each stops, the most frequent first."""
        numbers = np.bincount(self.codes[rows], minlength=len(self._names)).tolist()
        return _sorted({name: numbers[code] for name, code in self._names.items() if name and numbers[code]})


def _limit(refusal: Refusal) -> str:
    """A resource class where that is short, else the reason's code."""
    if refusal.reason is RefusalReason.RESOURCE_SHORT:
        return refusal.detail.partition(",")[0]
    return _CLASS_OF.get(refusal.reason) or refusal.reason.value


def _spread(world: World, resources: ResourceRequest) -> BoolArray:
    """Rows whose children, or pools that they share, may give some of these resources or have a say in their traits."""
    fleet, table = world.fleet, world.table
    has_traits = bool(resources.required or resources.forbidden)
    tops: set[int] = set()
    for top, members in fleet.trees.members.items():
        gives = any(resources.amounts.keys() & fleet.fact(each).inventories.keys() for each in members if each != top)
        if gives or has_traits:
            tops.add(top)
    for lender, roots in fleet.served.items():
        if resources.amounts.keys() & fleet.fact(lender).inventories.keys():
            tops.update(np.flatnonzero(roots).tolist())
    marks = np.zeros(len(table), dtype=np.bool_)
    rows = (table.row_by_uuid.get(str(fleet.fact(top).uuid)) for top in tops)
    marks[[row for row in rows if row is not None]] = True
    return marks


def _rooms(table: HostTable, amounts: Mapping[str, int]) -> IntArray:
    """By row: how many times all amounts are free."""
    rooms = [np.maximum(table.inventory(name).free, 0) // amount for name, amount in amounts.items()]
    return np.minimum.reduce(rooms) if rooms else np.zeros(len(table), dtype=np.int64)


def _held(table: HostTable, amounts: Mapping[str, int]) -> IntArray:
    """By row: how many of this flavor what is in use amounts to, rounded up, by the fullest class."""
    parts = [-(-table.inventory(name).used // amount) for name, amount in amounts.items()]
    return np.maximum.reduce(parts) if parts else np.zeros(len(table), dtype=np.int64)


def _total(zones: Mapping[str, ZoneCapacity]) -> ZoneCapacity:
    rooms = list(zones.values())
    limits: Counter[str] = Counter()
    binding: Counter[str] = Counter()
    for room in rooms:
        limits.update(room.limits)
        if room.binds:
            binding[room.binds] += room.limits.get(room.binds, 0)
    return ZoneCapacity(
        count=sum(room.count for room in rooms),
        n_plus_1=sum(room.n_plus_1 for room in rooms),
        hosts=sum(room.hosts for room in rooms),
        hosts_with_room=sum(room.hosts_with_room for room in rooms),
        binds=_max_of(binding),
        limits=_sorted(limits),
        is_lower_bound=any(room.is_lower_bound for room in rooms),
    )


def _max_of(counts: Counter[str]) -> str | None:
    return min(counts, key=lambda name: (-counts[name], name)) if counts else None


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
