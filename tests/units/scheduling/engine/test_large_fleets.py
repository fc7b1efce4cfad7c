"""Nova filters the slice of the fleet that Placement gives; here all hosts are judged, so no slice can be empty."""

from scheduling.domain.schedule_call import ScheduleCall
from scheduling.schedulers.run import scheduler_run
from scheduling.whatif.domain.world import world_run
from tests.units.scheduling.answer_worlds import world
from tests.units.scheduling.worlds import chosen, host, policy, request, table, trace_reasons

CROWDED = [host(f"cmp-{at:04}", num_instances=50) for at in range(1000)]


def test_host_after_the_first_thousand_that_a_filter_refuses_is_found() -> None:
    fleet = table(*CROWDED, host("cmp-1000"))
    trace = scheduler_run(ScheduleCall(fleet, request(), policy("NumInstancesFilter"), 1))
    assert chosen(trace) == ["cmp-1000"]
    assert len(trace_reasons(trace)) == 1000


def test_host_after_the_first_thousand_is_found_among_placements_candidates_too() -> None:
    where = world(*CROWDED, host("cmp-1000"))
    assert chosen(world_run(where, request(), policy("NumInstancesFilter"))) == ["cmp-1000"]


def test_second_of_a_batch_goes_beyond_the_first_thousand_as_well() -> None:
    fleet = table(*CROWDED, host("cmp-1000", num_instances=49), host("cmp-1001", num_instances=49))
    trace = scheduler_run(ScheduleCall(fleet, request(2), policy("NumInstancesFilter"), 1))
    assert sorted(chosen(trace)) == ["cmp-1000", "cmp-1001"]
