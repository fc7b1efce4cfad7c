"""The policy's scheduler in real runs: kept, replayed; old views never grant; a bad one fails its own request only."""

from typing import Any

import pytest

from placement.selectors import allocations_by_consumer
from scheduling.decisions.selectors.replay import ReplayState, replay_of
from scheduling.decisions.selectors.store import decision_record_of
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.errors import ClaimsExhausted, NoValidHost
from scheduling.models import SchedulingDecision, Service
from scheduling.policies.selectors.preview import policy_preview
from scheduling.policies.services.policies import policy_create, policy_validate
from scheduling.whatif.services.simulate import schedule_simulate
from tests.services.scheduling.fleet.fleet_world import NO_FACTS, fleet, request

pytestmark = pytest.mark.django_db
SAMPLES = "tests.units.scheduling.schedulers.sample_schedulers"


def active(scheduler: str, **body: Any) -> None:
    policy_create(body={"scheduler": scheduler, **body}, activate=True)


def select(count: int = 1, **changes: Any) -> list[str]:
    found = destinations_select(request=request(count, **changes), inputs=scheduling_inputs())
    return [one.selected.host for one in found.instances]


def last_decision() -> SchedulingDecision:
    return SchedulingDecision.objects.first()


def test_chance_scheduler_spreads_by_lot_and_its_decisions_replay_alike() -> None:
    fleet(6)
    active("chance_scheduler")
    chosen = {select(memory_mib=64)[0] for _ in range(30)}
    assert len(chosen) > 3
    for decision in SchedulingDecision.objects.all()[:10]:
        assert replay_of(decision=decision).state is ReplayState.SAME
    assert decision_record_of(decision=last_decision()).policy["scheduler"] == "chance_scheduler"


def test_scheduler_of_somebody_else_decides_a_real_run_and_replays() -> None:
    fleet(3)
    active(f"{SAMPLES}.Alphabet")
    assert select(2) == ["cmp-00", "cmp-01"]
    assert replay_of(decision=last_decision()).state is ReplayState.SAME


@pytest.mark.parametrize("name", ["UnknownHost", "Exiting", "Recursing", "NotATrace", "Cheap"])
def test_scheduler_that_misbehaves_fails_its_request_with_its_name_and_the_next_one_works(name: str) -> None:
    fleet(2)
    active(f"{SAMPLES}.{name}")
    asked = request()
    with pytest.raises(NoValidHost, match=name):
        destinations_select(request=asked, inputs=scheduling_inputs())
    assert f"the scheduler {SAMPLES}.{name}" in last_decision().verdict
    assert last_decision().outcome == "error"
    assert allocations_by_consumer() == {}
    active("filter_scheduler")
    assert len(select()) == 1


@pytest.mark.parametrize("kind", ["filters", "weighers"])
def test_filter_or_weigher_that_would_end_the_worker_fails_its_request_with_its_name(kind: str) -> None:
    fleet(2)
    nonsense = "tests.units.scheduling.engine.nonsense_plugins"
    path = f"{nonsense}.ExitingHostFilter" if kind == "filters" else f"{nonsense}.ExitingHostWeigher"
    active("filter_scheduler", **{kind: [path] if kind == "filters" else {path: 1.0}})
    with pytest.raises(NoValidHost, match=path.rpartition(".")[2]):
        select()
    assert last_decision().outcome == "error"


def test_scheduler_that_plans_beyond_the_room_gets_nothing_because_the_claim_decides() -> None:
    fleet(2)
    active(f"{SAMPLES}.Alphabet")
    assert select(memory_mib=4096) == ["cmp-00"]
    with pytest.raises(ClaimsExhausted):
        select(memory_mib=4096)
    assert len(allocations_by_consumer()) == 1


def test_scheduler_that_cannot_be_had_does_not_validate() -> None:
    made = policy_create(body={"scheduler": "tests.no.such.Scheduler"})
    verdict = policy_validate(policy_id=made.pk)
    assert [(one.field, one.code) for one in verdict.problems] == [("scheduler", "plugin_not_found")]


def test_simulation_and_preview_follow_the_versions_scheduler() -> None:
    fleet(3)
    select()
    active(f"{SAMPLES}.Alphabet")
    found = schedule_simulate(request=request(), fleet_facts=NO_FACTS)
    assert found.trace.verdict == "by the alphabet"
    draft = policy_create(body={"scheduler": f"{SAMPLES}.Alphabet"}, name="draft")
    assert policy_preview(policy_id=draft.pk, last=1).cases[0].preview_hosts == ("cmp-00",)


def test_caching_scheduler_works_on_the_last_look() -> None:
    fleet(3)
    active("caching_scheduler", options={"cached_view_age_s": 60.0})
    select()
    fleet(4)
    assert {select(memory_mib=64)[0] for _ in range(8)} <= {"cmp-00", "cmp-01", "cmp-02"}


def test_caching_scheduler_with_no_age_sees_new_hosts() -> None:
    fleet(1)
    active("caching_scheduler", options={"cached_view_age_s": 0.0})
    select(memory_mib=64)
    fleet(2)
    assert {select(memory_mib=64)[0] for _ in range(4)} == {"cmp-00", "cmp-01"}


def test_caching_scheduler_never_grants_a_host_that_was_disabled_since() -> None:
    fleet(2)
    active("caching_scheduler", options={"cached_view_age_s": 60.0})
    first = select(memory_mib=64)[0]
    other = ({"cmp-00", "cmp-01"} - {first}).pop()
    Service.objects.filter(host=other).update(disabled=True)
    assert {select(memory_mib=64)[0] for _ in range(4)} == {first}


def test_caching_scheduler_that_finds_no_host_looks_afresh_before_it_says_so() -> None:
    fleet(1)
    active("caching_scheduler", options={"cached_view_age_s": 60.0})
    select(memory_mib=4096)
    fleet(2)
    assert select(memory_mib=4096) == ["cmp-01"]
