from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import DEFAULT_POLICY, InventoryRow, schedule, trace_to_dict
from tests.units.scheduling.worlds import chosen, host, policy, request, run, table

EQUALS = table(*(host(f"h{at}") for at in range(8)))


def graded() -> list[InventoryRow]:
    return [InventoryRow(32768 - 1024 * at) for at in range(8)]


GRADED = table(*(host(f"h{at}", ram=each) for at, each in enumerate(graded())))


def test_same_seed_gives_the_same_trace() -> None:
    rules = policy(host_subset_size=4, shuffle_best_same_weighed_hosts=True)
    first, second = (trace_to_dict(run(EQUALS, request(3, num_alternates=2), rules, seed=7)) for _ in range(2))
    assert first == second


def test_subset_chooses_among_the_first_and_keeps_the_rest_in_order() -> None:
    seen = set()
    for seed in range(40):
        trace = run(GRADED, request(num_alternates=7), policy(host_subset_size=3), seed=seed)
        winner = chosen(trace)[0]
        rest = [each.host for each in trace.selections[0].alternates]
        assert rest == [f"h{at}" for at in range(8) if f"h{at}" != winner]
        seen.add(winner)
    assert seen == {"h0", "h1", "h2"}


def test_subset_larger_than_the_fleet_is_harmless() -> None:
    assert chosen(run(GRADED, request(), policy(host_subset_size=99)))


def test_shuffle_mixes_only_the_best_equals() -> None:
    fleet = table(host("a"), host("b"), host("c", ram=InventoryRow(8192)))
    rules = policy(shuffle_best_same_weighed_hosts=True)
    assert {chosen(run(fleet, request(), rules, seed=seed))[0] for seed in range(30)} == {"a", "b"}


def test_without_shuffle_the_seed_does_not_matter() -> None:
    assert {chosen(run(EQUALS, request(), seed=seed))[0] for seed in range(10)} == {"h0"}


def test_stages_tell_hosts_in_and_out_and_stop_at_zero() -> None:
    fleet = table(host("a", up=False), host("b", vcpu=InventoryRow(1)))
    stages = run(fleet, request(), policy("ComputeFilter", "NumInstancesFilter")).rounds[0].stages
    assert [(stage.name, stage.hosts_in, stage.hosts_out) for stage in stages] == [
        ("request_filters", 2, 2),
        ("placement", 2, 1),
        ("target", 1, 1),
        ("ComputeFilter", 1, 0),
    ]


def test_stopwatch_is_the_callers() -> None:
    ticks = iter(range(1000))
    trace = schedule(ScheduleCall(EQUALS, request(), DEFAULT_POLICY, 1, stopwatch=lambda: next(ticks)))
    assert set(trace.timings_us.values()) == {1}


def test_without_stopwatch_times_are_zero() -> None:
    assert set(run(EQUALS, request()).timings_us.values()) == {0}


def test_limits_written_by_a_filter_travel_with_the_selection() -> None:
    trace = run(EQUALS, request(num_alternates=1), policy("tests.units.scheduling.engine.sample_plugins.Limiting"))
    selection = trace.selections[0]
    assert selection.selected.limits == {"vcpu": 16}
    assert selection.alternates[0].limits == {"vcpu": 16}
