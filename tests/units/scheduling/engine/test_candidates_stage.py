"""The placement stage with Placement's candidates: what they are made of, and why others have none."""

from uuid import UUID

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.trace.trace import Lack
from scheduling.engine import Destination, Outcome, trace_from_dict, trace_to_dict
from tests.units.scheduling.placement_worlds import POOL, child, found, hosts_of, pool, root, schedule_on, usage
from tests.units.scheduling.worlds import chosen, flavor, request, run, trace_reasons

VGPU = {"resources1:VGPU": "1"}
TWO_VGPUS = {**VGPU, "resources2:VGPU": "1", "group_policy": "isolate"}
NO_DISK = {"VCPU": 16, "MEMORY_MB": 32768}


def text(number: int) -> str:
    return str(UUID(int=number))


def test_host_with_the_device_below_it_is_chosen_and_both_are_claimed() -> None:
    one, two = root(1), root(2)
    trace = schedule_on(request(specs=VGPU), (one, two), child(20, two, VGPU=1))
    assert chosen(trace) == ["host-2"]
    assert trace.selections[0].selected.allocations == {
        text(2): {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 10},
        text(20): {"VGPU": 1},
    }


def test_host_that_lives_on_a_shared_pool_is_chosen_and_the_pool_is_claimed() -> None:
    one = root(1, aggregates=(POOL,), **NO_DISK)
    trace = schedule_on(request(), (one,), pool(9, DISK_GB=100))
    assert trace.selections[0].selected.allocations == {
        text(1): {"VCPU": 2, "MEMORY_MB": 2048},
        text(9): {"DISK_GB": 10},
    }


def test_device_of_another_tree_is_no_help() -> None:
    one, two = root(1), root(2)
    asked = request(specs={**VGPU, "trait:HW_A": "required"})
    trace = schedule_on(asked, (root(1, traits=("HW_A",), **dict(one.inventories)), two), child(20, two, VGPU=1))
    assert trace_reasons(trace) == {"host-1": RefusalReason.RESOURCE_SHORT, "host-2": RefusalReason.TRAIT_MISSING}


def test_provider_that_stands_alone_claims_as_ever() -> None:
    trace = schedule_on(request(), (root(1),))
    assert trace.selections[0].selected.allocations == {}
    assert "allocations" not in trace_to_dict(trace)["selections"][0]["selected"]


def test_reason_of_a_tree_names_group_and_numbers() -> None:
    one = root(1)
    trace = schedule_on(request(specs=VGPU), (one,), child(10, one, VGPU=usage(1, 1)))
    refusal = trace.refusal_of(0)
    assert refusal is not None
    assert (refusal.reason, refusal.wanted, refusal.available, refusal.total) == (RefusalReason.RESOURCE_SHORT, 1, 0, 1)
    assert refusal.detail == "VGPU, group 1"
    assert refusal.stage == "placement"


def test_reason_of_a_provider_alone_has_the_columns_numbers() -> None:
    trace = schedule_on(request(), (root(1, VCPU=usage(1, 3, ratio=4.0), MEMORY_MB=4096, DISK_GB=20),))
    refusal = trace.refusal_of(0)
    assert refusal is not None
    assert refusal.sentence() == "vCPUs: wants 2, has 1 of 1 after 4x"


def test_groups_that_need_two_devices_are_refused_by_one() -> None:
    one = root(1)
    trace = schedule_on(request(specs=TWO_VGPUS), (one,), child(10, one, VGPU=2))
    assert trace_reasons(trace) == {"host-1": RefusalReason.NO_CANDIDATE}


def test_provider_alone_cannot_isolate_groups() -> None:
    trace = schedule_on(request(specs=TWO_VGPUS), (root(1, VCPU=4, MEMORY_MB=4096, DISK_GB=20, VGPU=4),))
    assert trace_reasons(trace) == {"host-1": RefusalReason.NO_CANDIDATE}


def test_equal_reasons_of_many_trees_share_a_group_with_their_numbers_beside() -> None:
    roots = tuple(root(number) for number in range(1, 6))
    devices = [child(100 + at, one, VGPU=usage(at + 1, at + 1)) for at, one in enumerate(roots)]
    trace = schedule_on(request(specs=VGPU), roots, *devices)
    (group,) = trace.rounds[0].refusals
    assert [group.refusal_at(at).total for at in range(5)] == [1, 2, 3, 4, 5]
    again = trace_from_dict(trace_to_dict(trace))
    assert list(again.refusals()) == list(trace.refusals())


def test_nearest_tree_lacks_what_it_was_refused_for() -> None:
    one, two = root(1), root(2)
    asked = request(specs={"resources1:VGPU": "4"})
    trace = schedule_on(asked, (one, two), child(10, one, VGPU=1), child(20, two, VGPU=3))
    assert trace.nearest is not None
    assert (trace.nearest.host, trace.nearest.lacks) == ("host-2", (Lack("VGPU", 1),))


def test_flavor_of_shared_resources_alone_claims_the_pool() -> None:
    asked = request(specs={"resources:VCPU": "0", "resources:MEMORY_MB": "0"})
    trace = schedule_on(asked, (root(1, aggregates=(POOL,), **NO_DISK),), pool(9, DISK_GB=100))
    assert trace.selections[0].selected.allocations == {text(9): {"DISK_GB": 10}}


def test_node_that_placement_does_not_have_is_refused() -> None:
    asked, one, two = request(), root(1), root(2)
    trace = run(hosts_of(one, two), asked, candidates=found(asked, (one,), unknown=(two,)))
    assert trace_reasons(trace) == {"host-2": RefusalReason.NO_CANDIDATE}


def test_batch_takes_device_after_device_of_one_host() -> None:
    one = root(1)
    trace = schedule_on(request(3, specs=VGPU), (one,), child(10, one, VGPU=1), child(11, one, VGPU=2))
    devices = [next(name for name in each.selected.allocations if name != text(1)) for each in trace.selections]
    assert sorted(devices) == [text(10), text(11), text(11)]


def test_batch_larger_than_the_devices_is_refused_with_the_numbers() -> None:
    one = root(1)
    trace = schedule_on(request(2, specs=VGPU), (one,), child(10, one, VGPU=1))
    assert trace.outcome is Outcome.NO_VALID_HOST
    refusal = trace.refusal_of(0)
    assert refusal is not None
    assert (refusal.reason, refusal.available) == (RefusalReason.RESOURCE_SHORT, 0)


def test_batch_on_several_hosts_counts_the_pool_that_they_share() -> None:
    roots = tuple(root(number, aggregates=(POOL,), **NO_DISK) for number in (1, 2, 3))
    assert len(schedule_on(request(2), roots, pool(9, DISK_GB=29)).selections) == 2
    trace = schedule_on(request(3), roots, pool(9, DISK_GB=29))
    assert trace.outcome is Outcome.NO_VALID_HOST
    assert set(trace_reasons(trace).values()) == {RefusalReason.DISK_SHORT}


def test_batch_counts_room_of_roots_that_have_devices() -> None:
    one = root(1, VCPU=4, MEMORY_MB=32768, DISK_GB=500)
    trace = schedule_on(request(3, specs=VGPU), (one,), child(10, one, VGPU=8))
    assert trace_reasons(trace) == {"host-1": RefusalReason.VCPU_SHORT}


def test_only_wanted_node_is_searched_and_the_others_are_told_so() -> None:
    roots = (root(1), root(2, VCPU=1, MEMORY_MB=1, DISK_GB=1))
    asked = request(requested_destination=Destination(host="host-1"))
    trace = schedule_on(asked, roots, target=roots[0].uuid)
    assert chosen(trace) == ["host-1"]
    assert trace_reasons(trace) == {"host-2": RefusalReason.NOT_REQUESTED_HOST}


def test_only_wanted_node_may_live_on_a_shared_pool() -> None:
    roots = (root(1, aggregates=(POOL,), **NO_DISK), root(2))
    asked = request(requested_destination=Destination(host="host-1"))
    assert chosen(schedule_on(asked, roots, pool(9, DISK_GB=100), target=roots[0].uuid)) == ["host-1"]


def test_alternates_have_their_own_devices() -> None:
    one, two = root(1), root(2)
    trace = schedule_on(
        request(specs=VGPU, num_alternates=1), (one, two), child(10, one, VGPU=1), child(20, two, VGPU=1)
    )
    (each,) = trace.selections
    (alternate,) = each.alternates
    assert {name for one in (each.selected, alternate) for name in one.allocations} == {
        text(number) for number in (1, 10, 2, 20)
    }


@pytest.mark.parametrize("memory_mib", [2048, 40000])
def test_flat_fleet_is_judged_as_without_candidates(memory_mib: int) -> None:
    roots = (root(1), root(2, VCPU=1, MEMORY_MB=65536, DISK_GB=20), root(3, VCPU=4, MEMORY_MB=65536, DISK_GB=20))
    asked = request(2, flavor=flavor(memory_mib=memory_mib))
    assert trace_to_dict(schedule_on(asked, roots)) == trace_to_dict(run(hosts_of(*roots), asked))
