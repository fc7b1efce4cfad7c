"""Whatever the fleet, the request and the two policies: a shadow leaves the decision and what it saw as they were."""

from hypothesis import given
from hypothesis import strategies as st

from scheduling.decisions.ledger.fleet_codec import whole_to_bytes
from scheduling.decisions.ledger.fleet_columns import table_to_columns
from scheduling.domain.policy import DEFAULT_WEIGHERS, Policy
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Outcome
from scheduling.engine import AggregateRow, HostRow, ScheduleRequest, host_table_from_rows, schedule, trace_to_dict
from scheduling.filters.registry import BUILT_IN
from scheduling.policies.compare import policies_compare
from tests.properties.scheduling.fleets import AGGREGATES, host_rows, requests

POLICIES = st.builds(
    Policy,
    filters=st.lists(st.sampled_from(sorted(BUILT_IN)), unique=True, max_size=6).map(tuple),
    weighers=st.lists(st.sampled_from(DEFAULT_WEIGHERS), unique=True).map(tuple),
    host_subset_size=st.integers(1, 3),
    shuffle_best_same_weighed_hosts=st.booleans(),
)
pairs = given(host_rows(), AGGREGATES, requests(), POLICIES, POLICIES, st.integers(0, 2**31))


@pairs
def test_shadow_never_changes_what_was_seen_or_decided(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, live: Policy, shadow: Policy, seed: int
) -> None:
    table = host_table_from_rows(rows, aggregates)
    decided = schedule(ScheduleCall(table, asked, live, seed))
    before = whole_to_bytes(table_to_columns(table)), trace_to_dict(decided)
    policies_compare(table, decided, schedule(ScheduleCall(table, asked, shadow, seed)))
    assert (whole_to_bytes(table_to_columns(table)), trace_to_dict(decided)) == before
    assert trace_to_dict(schedule(ScheduleCall(table, asked, live, seed))) == before[1]


@pairs
def test_comparison_is_sound(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, live: Policy, shadow: Policy, seed: int
) -> None:
    table = host_table_from_rows(rows, aggregates)
    one, two = schedule(ScheduleCall(table, asked, live, seed)), schedule(ScheduleCall(table, asked, shadow, seed))
    found = policies_compare(table, one, two)
    ends = [each.outcome is Outcome.SELECTED for each in (one, two)]
    expected = {(True, False): {"would_fail"}, (False, True): {"would_succeed"}, (False, False): {"both_fail"}}
    assert found.agreement in expected.get((ends[0], ends[1]), {"same", "elsewhere"})
    assert (found.agreement == "same") == (all(ends) and found.moved == 0)
    assert found.moved <= len(asked.instance_uuids)
    for part in (found.decided_fragmentation, found.other_fragmentation):
        assert part is None or 0.0 <= part <= 1.0


@pairs
def test_policy_agrees_with_itself(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, live: Policy, shadow: Policy, seed: int
) -> None:
    table = host_table_from_rows(rows, aggregates)
    trace = schedule(ScheduleCall(table, asked, live, seed))
    found = policies_compare(table, trace, schedule(ScheduleCall(table, asked, live, seed)))
    assert (found.agreement in ("same", "both_fail"), found.moved) == (True, 0)
    assert found.score_difference in (None, 0.0)
    assert found.decided_fragmentation == found.other_fragmentation
