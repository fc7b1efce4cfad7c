import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.engine import InventoryRow, Outcome
from tests.units.scheduling.worlds import (
    chosen,
    flavor,
    group,
    host,
    policy,
    request,
    run,
    table,
    trace_reasons,
)


def cores(total: int, used: int = 0) -> InventoryRow:
    return InventoryRow(total, used=used)


def test_batch_spreads_because_each_instance_consumes() -> None:
    assert chosen(run(table(host("a"), host("b")), request(4))) == ["a", "b", "a", "b"]


def test_batch_leaves_a_host_when_it_is_full() -> None:
    fleet = table(host("big", vcpu=cores(4)), host("low", ram=InventoryRow(8192)))
    assert chosen(run(fleet, request(3))) == ["big", "big", "low"]


def test_batch_that_does_not_fit_whole_places_nothing() -> None:
    trace = run(table(host("a", vcpu=cores(4))), request(3))
    assert (trace.outcome, trace.selections) == (Outcome.NO_VALID_HOST, ())
    assert trace.verdict == "No host fits instance 3 of 3: the only one lacks vCPUs; closest is a, 2 vCPU short"


def test_min_count_lets_a_part_succeed() -> None:
    trace = run(table(host("a", vcpu=cores(4))), request(3, min_count=2))
    assert chosen(trace) == ["a", "a"]
    assert trace.verdict_redacted == "1 of 1 hosts chosen for 2 of 3 instances"


def test_anti_affinity_counts_instances_of_the_batch() -> None:
    fleet = table(host("a"), host("b"), host("c", ram=InventoryRow(4096)))
    trace = run(fleet, request(3, group=group("anti-affinity")), policy("ServerGroupAntiAffinityFilter"))
    assert chosen(trace) == ["a", "b", "c"]


def test_anti_affinity_batch_larger_than_the_fleet_says_so() -> None:
    asked = request(3, group=group("anti-affinity"))
    trace = run(table(host("a"), host("b")), asked, policy("ServerGroupAntiAffinityFilter"))
    assert trace_reasons(trace) == dict.fromkeys("ab", RefusalReason.GROUP_ANTI_AFFINITY)


def test_affinity_keeps_the_batch_on_the_first_host() -> None:
    fleet = table(host("a"), host("b"))
    trace = run(fleet, request(3, group=group("affinity")), policy("ServerGroupAffinityFilter"))
    assert chosen(trace) == ["a", "a", "a"]


def test_once_per_request_filter_is_not_asked_again_and_its_refusals_stand() -> None:
    fleet = table(host("a", up=False), host("b"))
    trace = run(fleet, request(2), policy("ComputeFilter", "NumInstancesFilter"))
    assert [stage.name for stage in trace.rounds[1].stages] == ["placement", "NumInstancesFilter"]
    assert chosen(trace) == ["b", "b"]


def test_io_ops_of_the_batch_count() -> None:
    trace = run(table(host("a"), host("b", num_io_ops=7)), request(9), policy("IoOpsFilter"))
    assert chosen(trace).count("b") == 1


def test_swap_is_claimed_but_not_weighed() -> None:
    small = flavor(root_gib=1, swap_mib=1025)
    trace = run(table(host("a")), request(2, flavor=small), policy(weighers={"DiskWeigher": 1.0}))
    assert trace.resources["DISK_GB"] == 3


@pytest.mark.parametrize(("wanted", "expected"), [(0, []), (1, ["b"]), (2, ["b", "c"]), (5, ["b", "c"])])
def test_alternates_are_the_next_best_of_the_cell(wanted: int, expected: list[str]) -> None:
    fleet = table(
        host("a"),
        host("b", ram=InventoryRow(16384)),
        host("c", ram=InventoryRow(8192)),
        host("other", ram=InventoryRow(30000), cell_uuid="cell2"),
    )
    trace = run(fleet, request(num_alternates=wanted))
    assert [each.host for each in trace.selections[0].alternates] == expected


def test_alternates_of_a_batch_exclude_all_its_hosts_and_repeat() -> None:
    fleet = table(*(host(name) for name in "abcd"))
    trace = run(fleet, request(2, num_alternates=2))
    assert chosen(trace) == ["a", "b"]
    assert [[each.host for each in one.alternates] for one in trace.selections] == [["c", "d"], ["c", "d"]]


def test_alternates_of_a_batch_are_ranked_after_it_was_placed() -> None:
    fleet = table(*(host(name) for name in "abc"))
    trace = run(fleet, request(2, num_alternates=2, group=group("affinity")), policy("ServerGroupAffinityFilter"))
    assert trace.selections[0].alternates == ()
    assert trace.alternates_round is not None


def test_no_hosts_at_all_is_said() -> None:
    assert run(table(), request()).verdict == "No host fits: there are no hosts"
