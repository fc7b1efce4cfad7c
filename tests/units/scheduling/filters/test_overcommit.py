"""RamFilter, CoreFilter, DiskFilter and their forms by aggregate: total * ratio - used, never beyond the total."""

from dataclasses import dataclass
from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_rows import InventoryRow
from scheduling.filters.base import Filter
from scheduling.filters.core import AggregateCoreFilter, CoreFilter
from scheduling.filters.disk import AggregateDiskFilter, DiskFilter
from scheduling.filters.overcommit import ResourceRoom
from scheduling.filters.ram import AggregateRamFilter, RamFilter
from tests.units.scheduling.worlds import aggregate, every, flavor, host, policy, refused, request, run, spec_of, table


@dataclass(frozen=True)
class Case:
    """One resource: its filters, how a host and a flavor speak of it, its reason, its limit."""

    plain: Filter
    by_aggregate: Filter
    key: str
    inventory: str
    wanted: str
    reason: RefusalReason
    limit: str

    def fleet(self, *, ratio: float = 1.0, used: int = 0, total: int = 100, sets: tuple[str, ...] = ()) -> Any:
        """One host with 100 of it, in an aggregate for each of `sets`."""
        row = InventoryRow(total, used=used, allocation_ratio=ratio)
        aggregates = tuple(aggregate(f"s{at}", "a", **{self.key: text}) for at, text in enumerate(sets))
        return table(host("a", **{self.inventory: row}), aggregates=aggregates)

    def asks(self, amount: int) -> Any:
        """A request for that much of it and nothing of disk else."""
        return request(flavor=flavor(**{"root_gib": 0, "memory_mib": 1, "vcpus": 1, self.wanted: amount}))


RAM = Case(
    RamFilter(), AggregateRamFilter(), "ram_allocation_ratio", "ram", "memory_mib", RefusalReason.RAM_SHORT, "memory_mb"
)
CORE = Case(
    CoreFilter(), AggregateCoreFilter(), "cpu_allocation_ratio", "vcpu", "vcpus", RefusalReason.VCPU_SHORT, "vcpu"
)
DISK = Case(
    DiskFilter(),
    AggregateDiskFilter(),
    "disk_allocation_ratio",
    "disk",
    "root_gib",
    RefusalReason.DISK_SHORT,
    "disk_gb",
)
CASES = pytest.mark.parametrize("case", [RAM, CORE, DISK], ids=["ram", "core", "disk"])


@CASES
@pytest.mark.parametrize(
    ("ratio", "used", "wanted", "passes"),
    [
        (1.0, 0, 100, True),
        (1.0, 1, 100, False),
        (1.5, 100, 50, True),
        (1.5, 100, 51, False),
        (1.5, 0, 101, False),  # not against itself
        (0.5, 0, 50, True),
        (0.5, 0, 51, False),
        (1.0, 120, 1, False),  # more in use than there is
    ],
)
def test_room_is_total_times_ratio_less_used(case: Case, ratio: float, used: int, wanted: int, passes: bool) -> None:
    assert (refused(case.plain, case.fleet(ratio=ratio, used=used), case.asks(wanted)) == {}) is passes


@CASES
def test_too_full_host_tells_its_numbers(case: Case) -> None:
    refusal = refused(case.plain, case.fleet(ratio=1.5, used=120), case.asks(40))["a"]
    assert (refusal.reason, refusal.wanted, refusal.available) == (case.reason, 40, 30)
    assert (refusal.total, refusal.ratio) == (100, 1.5)


@CASES
def test_too_small_host_tells_what_it_has_without_overcommit(case: Case) -> None:
    refusal = refused(case.plain, case.fleet(ratio=16.0), case.asks(101))["a"]
    assert (refusal.reason, refusal.wanted, refusal.available, refusal.ratio) == (case.reason, 101, 100, None)


@CASES
@pytest.mark.parametrize(
    ("sets", "room"),
    [
        ((), 100),
        (("1.5",), 50),
        (("4.0", "1.5"), 50),
        (("1.5", "plenty"), 100),  # one that is no number: the host's own
        (("inf",), 100),
        (("0.5",), 0),
    ],
)
def test_least_ratio_of_the_aggregates_counts(case: Case, sets: tuple[str, ...], room: int) -> None:
    fleet = case.fleet(ratio=2.0, used=100, sets=sets)
    assert room == 0 or refused(case.by_aggregate, fleet, case.asks(room)) == {}
    assert room == 100 or refused(case.by_aggregate, fleet, case.asks(room + 1))["a"].available == room


@CASES
def test_plain_form_does_not_look_at_aggregates(case: Case) -> None:
    assert refused(case.plain, case.fleet(ratio=2.0, used=100, sets=("1.0",)), case.asks(100)) == {}


@CASES
def test_hosts_ratio_of_another_aggregate_is_its_own(case: Case) -> None:
    row = InventoryRow(100, used=100, allocation_ratio=2.0)
    rows = (host("a", **{case.inventory: row}), host("b", **{case.inventory: row}))
    snapshot = table(*rows, aggregates=(aggregate("x", "b", **{case.key: "1.0"}),))
    assert set(refused(case.by_aggregate, snapshot, case.asks(1))) == {"b"}


@CASES
@pytest.mark.parametrize("form", ["plain", "by_aggregate"])
def test_limit_goes_with_the_selection(case: Case, form: str) -> None:
    fleet = case.fleet(ratio=1.5, total=1000)
    trace = run(fleet, case.asks(10), policy(getattr(case, form).name))
    assert trace.selections[0].selected.limits == {case.limit: 1500.0}


def test_limit_by_aggregate_goes_with_the_selection() -> None:
    fleet = RAM.fleet(ratio=1.0, total=1000, sets=("1.25",))
    trace = run(fleet, RAM.asks(10), policy("AggregateRamFilter"))
    assert trace.selections[0].selected.limits == {"memory_mb": 1250.0}


@pytest.mark.parametrize("rule", [CORE.plain, CORE.by_aggregate])
def test_host_without_vcpus_passes(rule: Filter) -> None:
    assert refused(rule, CORE.fleet(total=0), CORE.asks(4)) == {}


@pytest.mark.parametrize("rule", [RAM.plain, RAM.by_aggregate])
def test_reserved_memory_is_in_use(rule: Filter) -> None:
    fleet = table(host("a", ram=InventoryRow(100, reserved=30)))
    assert set(refused(rule, fleet, RAM.asks(71))) == {"a"}
    assert refused(rule, fleet, RAM.asks(70)) == {}


def test_disk_wanted_is_root_ephemeral_and_swap() -> None:
    asked = request(flavor=flavor(root_gib=50, ephemeral_gib=49, swap_mib=1025))
    refusal = refused(DiskFilter(), DISK.fleet(), asked)["a"]
    assert refusal.wanted == pytest.approx(100 + 1 / 1024)
    assert (
        refused(DiskFilter(), DISK.fleet(), request(flavor=flavor(root_gib=50, ephemeral_gib=49, swap_mib=1024))) == {}
    )


def test_disk_that_can_surely_be_used_counts() -> None:
    fleet = table(host("a", disk=InventoryRow(100), disk_available_least_gib=20))
    assert refused(DiskFilter(), fleet, DISK.asks(21))["a"].available == 20


def test_hosts_already_gone_are_not_asked() -> None:
    snapshot = table(*(host(name, ram=InventoryRow(100)) for name in "abc"))
    hosts = every(snapshot).where(every(snapshot).rows != 1)
    groups = AggregateRamFilter().refusals(hosts, spec_of(RAM.asks(101)))
    assert [group.rows.tolist() for group in groups] == [[0, 2]]


def test_room_keeps_its_unit() -> None:
    snapshot = table(host("a"))
    ratio = snapshot.inventory("VCPU").allocation_ratio
    assert ResourceRoom(1, ratio, ratio, ratio, RefusalReason.RAM_SHORT, "MB", "memory_mb").unit == "MB"
