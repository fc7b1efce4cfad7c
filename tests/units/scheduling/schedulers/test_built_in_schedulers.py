from collections import Counter
from dataclasses import replace

from controlplane.kernel.reasons import RefusalReason
from scheduling.decisions.ledger.record import trace_digest
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import DEFAULT_POLICY, InventoryRow, trace_from_dict, trace_to_dict, why_not
from scheduling.schedulers.chance_scheduler import FILTERS
from scheduling.schedulers.registry import policy_plugins
from scheduling.schedulers.run import scheduler_run, view_age_allowed_s
from scheduling.whatif.domain.capacity import capacity
from scheduling.whatif.domain.world import world_run
from tests.units.scheduling.answer_worlds import world
from tests.units.scheduling.worlds import (
    aggregate,
    chosen,
    group,
    host,
    policy,
    request,
    run,
    table,
    trace_reasons,
)

CHANCE = policy("NumInstancesFilter", weighers={"RAMWeigher": 1.0}, scheduler="chance_scheduler")
EQUAL = table(*(host(f"h{at:02}") for at in range(20)))


def test_chance_draws_among_all_hosts_that_can_take_it() -> None:
    drawn = Counter(chosen(scheduler_run(ScheduleCall(EQUAL, request(), CHANCE, seed)))[0] for seed in range(400))
    assert len(drawn) == 20
    assert max(drawn.values()) < 50


def test_chance_gives_the_same_trace_for_the_same_seed() -> None:
    asked = request(3, num_alternates=2)
    one, two = (scheduler_run(ScheduleCall(EQUAL, asked, CHANCE, 7)) for _ in range(2))
    assert trace_digest(one) == trace_digest(two)
    assert chosen(one) != chosen(scheduler_run(ScheduleCall(EQUAL, asked, CHANCE, 8)))


def test_chance_asks_no_filter_of_the_policy_and_no_weigher() -> None:
    fleet = table(host("crowded", num_instances=1000), host("other", num_instances=1000))
    trace = scheduler_run(ScheduleCall(fleet, request(), CHANCE, 1))
    ranking = trace.rounds[0].ranking
    assert ranking is not None
    assert (ranking.weighers, ranking.scores.tolist()) == ((), [0.0, 0.0])
    assert trace_reasons(run(fleet, request(), policy("NumInstancesFilter"))) != {}


def test_chance_keeps_the_rules_of_placement_target_and_liveness_with_their_reasons() -> None:
    fleet = table(
        host("fits"),
        host("full", vcpu=InventoryRow(16, used=16)),
        host("down", up=False),
        host("off", enabled=False),
        host("ignored"),
        host("zone"),
        aggregates=(aggregate("z", "fits", "full", "down", "off", "ignored", availability_zone="here"),),
    )
    trace = scheduler_run(ScheduleCall(fleet, request(ignore_hosts=("ignored",), availability_zone="here"), CHANCE, 3))
    assert chosen(trace) == ["fits"]
    assert trace_reasons(trace) == {
        "full": RefusalReason.VCPU_SHORT,
        "down": RefusalReason.DOWN,
        "off": RefusalReason.DISABLED,
        "ignored": RefusalReason.IGNORED,
        "zone": RefusalReason.WRONG_ZONE,
    }


def test_chance_goes_to_the_forced_host() -> None:
    assert {
        chosen(scheduler_run(ScheduleCall(EQUAL, request(force_hosts=("h07",)), CHANCE, seed)))[0] for seed in range(9)
    } == {"h07"}


def test_chance_does_not_draw_a_host_that_the_claim_of_a_group_would_refuse() -> None:
    fleet = table(host("a", instances=frozenset({"old"})), host("b"))
    asked = request(group=group("anti-affinity", members=("old",), hosts=("a",)))
    assert {chosen(scheduler_run(ScheduleCall(fleet, asked, CHANCE, seed)))[0] for seed in range(9)} == {"b"}


def test_chance_without_any_host_says_why() -> None:
    trace = scheduler_run(ScheduleCall(table(host("down", up=False)), request(), CHANCE, 1))
    assert trace.verdict.startswith("No host fits: the only one is down")


def test_trace_of_chance_is_kept_and_explained_like_any_other() -> None:
    trace = scheduler_run(ScheduleCall(EQUAL, request(num_alternates=2), CHANCE, 5))
    assert trace_digest(trace_from_dict(trace_to_dict(trace))) == trace_digest(trace)
    assert "came" in why_not(trace, next(name for name in EQUAL.hosts if name not in chosen(trace))).sentence


def test_trial_and_capacity_follow_the_policys_scheduler() -> None:
    crowded = world(host("h0", num_instances=1000), host("h1", num_instances=1000))
    rules = policy("NumInstancesFilter")
    assert world_run(crowded, request(), rules).selections == ()
    assert capacity(crowded, request(), rules).total.count == 0
    by_chance = replace(rules, scheduler="chance_scheduler")
    assert len(world_run(crowded, request(), by_chance).selections) == 1
    assert capacity(crowded, request(), by_chance).total.count == 16


def test_refusals_of_a_rule_are_those_of_the_policys_scheduler() -> None:
    rules = policy("NumInstancesFilter", scheduler="chance_scheduler")
    assert policy_plugins(rules).filters == FILTERS
    assert policy_plugins(policy("NumInstancesFilter")).filters == ("NumInstancesFilter",)


def test_caching_scheduler_decides_as_the_filter_scheduler_does() -> None:
    cached = policy("ComputeFilter", scheduler="caching_scheduler")
    plain = policy("ComputeFilter")
    asked = request(3, num_alternates=2)
    assert trace_digest(scheduler_run(ScheduleCall(EQUAL, asked, cached, 4))) == trace_digest(
        scheduler_run(ScheduleCall(EQUAL, asked, plain, 4))
    )


def test_only_the_caching_scheduler_works_on_an_old_view() -> None:
    options = PolicyOptions(cached_view_age_s=30.0)
    assert view_age_allowed_s(policy(scheduler="caching_scheduler", options=options)) == 30.0
    assert view_age_allowed_s(policy(options=options)) == view_age_allowed_s(CHANCE) == 0.0
    assert DEFAULT_POLICY.options.cached_view_age_s == 10.0
