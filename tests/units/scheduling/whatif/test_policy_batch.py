"""A batch, one request after another: what the former took is gone for the next, and the sums say what came of it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.domain.policy import Policy, WeigherSetting
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.engine import InventoryRow
from scheduling.whatif.domain.consumed import world_after
from scheduling.whatif.domain.policy_batch import batch_run
from scheduling.whatif.domain.world import World, world_run
from scheduling.whatif.services.policy_batch import batch_of
from tests.units.scheduling.answer_worlds import world
from tests.units.scheduling.worlds import flavor, host, policy, request

SMALL = flavor(vcpus=2, memory_mib=1024, root_gib=1)


def weighing(multiplier: float) -> Policy:
    return replace(policy(), weighers=(WeigherSetting("CPUWeigher", multiplier),))


SPREAD, STACK = weighing(1.0), weighing(-1.0)


def asked(count: int, number: int = 0) -> ScheduleRequest:
    return batch_of(request(flavor=SMALL), count, number)


def three_hosts() -> World:
    return world(host("a"), host("b"), host("c"))


def test_spreading_uses_all_hosts_and_stacking_one() -> None:
    spread, stack = (batch_run(three_hosts(), [asked(6)], one, [], seed=1) for one in (SPREAD, STACK))

    assert (spread.hosts_chosen, spread.busiest, spread.placed) == (3, ("a", 2), 6)
    assert (stack.hosts_chosen, stack.busiest, stack.placed) == (1, ("a", 6), 6)
    assert (stack.hosts_used_before, stack.hosts_used) == (0, 1)


def test_the_next_request_finds_what_the_former_left() -> None:
    together = batch_run(three_hosts(), [asked(6)], STACK, [], seed=1)
    one_by_one = batch_run(three_hosts(), [asked(1, number) for number in range(6)], STACK, [], seed=1)

    assert one_by_one == together


def test_what_finds_no_room_is_counted_as_failed() -> None:
    found = batch_run(three_hosts(), [asked(20), asked(10, 1)], SPREAD, [], seed=1)

    assert (found.asked, found.placed, found.failed) == (30, 24, 6)
    assert found.fullest is not None
    assert (found.fullest.resource_class, found.fullest.share) == ("VCPU", 1.0)


def test_room_is_told_before_and_after() -> None:
    (room,) = batch_run(three_hosts(), [asked(5)], SPREAD, [request(flavor=SMALL)], seed=1).room

    assert (room.before, room.after) == (24, 19)


def test_what_contradicts_itself_is_told_and_the_others_go_on() -> None:
    wrong = batch_of(request(flavor=flavor(extra_specs={"hw:cpu_policy": "dedicated", "hw:mem_page_size": "x"})), 2, 1)

    found = batch_run(three_hosts(), [wrong, asked(3)], SPREAD, [], seed=1)

    assert (found.placed, found.failed, len(found.refusals)) == (3, 2, 1)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.sampled_from([SPREAD, STACK]))
@settings(max_examples=25, deadline=None)
def test_nothing_is_lost_and_no_host_is_over_its_bound(counts: list[int], rules: Policy) -> None:
    where, placed = three_hosts(), 0
    for number, count in enumerate(counts):
        one = asked(count, number)
        trace = world_run(where, one, rules)
        where, placed = world_after(where, one, trace), placed + len(trace.selections)

    vcpu = where.table.inventory("VCPU")
    assert int(vcpu.used.sum()) == 2 * placed == 2 * int(where.table.num_instances.sum())
    assert (vcpu.used <= vcpu.capacity).all()


def test_the_world_before_is_left_as_it_was() -> None:
    where = three_hosts()
    world_after(where, asked(3), world_run(where, asked(3), SPREAD))

    assert int(where.table.inventory("VCPU").used.sum()) == 0


@pytest.mark.parametrize("used", [0, 8])
def test_a_fuller_host_is_the_fullest(used: int) -> None:
    where = world(host("a", vcpu=InventoryRow(16, used=used)), host("b", disk=InventoryRow(100, used=30)))

    found = batch_run(where, [], SPREAD, [], seed=1).fullest

    assert found is not None
    assert (found.host, found.resource_class) == (("a", "VCPU") if used else ("b", "DISK_GB"))
