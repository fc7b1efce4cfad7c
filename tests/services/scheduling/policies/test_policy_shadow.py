"""A shadow runs beside the policy that decides: it claims nothing, fails nothing, and what it found is kept."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from placement.models import Allocation, Consumer, Inventory
from scheduling.decisions.ledger.fleet_columns import fleet_seen
from scheduling.decisions.services.record import DecisionDraft, decision_record
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.engine import host_table_from_rows, schedule
from scheduling.errors import NoValidHost
from scheduling.fleet.cache.host_rows import aggregate_rows, compute_nodes, host_rows
from scheduling.fleet.selectors.candidates import placement_read
from scheduling.models import SchedulingDecision, ShadowResult
from scheduling.policies.domain.states import is_in_share
from scheduling.policies.selectors.policies import policy_active, shadow_policy
from scheduling.policies.selectors.shadow import ShadowMove, shadow_report
from scheduling.policies.services.policies import policy_create, policy_shadow_start, policy_validate
from scheduling.policies.services.shadow import DecidedRun, shadow_offer, shadow_run, shadow_wait
from tests.fixtures.patience import PATIENCE_S
from tests.services.scheduling.fleet.fleet_world import NO_FACTS, fleet, request
from tests.services.scheduling.policies.policy_world import BROKEN, NO_HOST, STACKING, uneven_fleet

pytestmark = pytest.mark.django_db


def shadowed(body: dict[str, Any], share: float = 1.0) -> uuid.UUID:
    made = policy_create(body=body)
    assert policy_validate(policy_id=made.pk).valid
    policy_shadow_start(policy_id=made.pk, share=share)
    return made.pk


def recorded(asked: ScheduleRequest | None = None) -> tuple[uuid.UUID, DecisionDraft, Trace]:
    """A decision on the present fleet, recorded, not claimed."""
    asked = asked or request()
    nodes = compute_nodes()
    read = placement_read(request=asked, nodes=nodes)
    table = host_table_from_rows(host_rows(nodes=nodes, fleet=read.fleet, facts=NO_FACTS), aggregate_rows())
    policy = policy_active()
    trace = schedule(ScheduleCall(table, asked, policy, 7, candidates=read.candidates))
    draft = DecisionDraft(request=asked, policy=policy, seed=7, subject=uuid.UUID(asked.instance_uuids[0]))
    draft.seen = fleet_seen(table, read.candidates)
    return decision_record(draft=draft, trace=trace, duration_us=1).pk, draft, trace


def decided(asked: ScheduleRequest | None = None) -> DecidedRun:
    decision_id, draft, trace = recorded(asked)
    assert draft.seen is not None
    return DecidedRun(decision_id, draft.request, draft.seen, trace, {})


def offered() -> None:
    decision_id, draft, trace = recorded()
    shadow_offer(decision_id=decision_id, draft=draft, trace=trace)


def ran(run: DecidedRun) -> ShadowResult:
    shadow = shadow_policy()
    assert shadow is not None
    result = shadow_run(run=run, shadow=shadow)
    assert result is not None
    return ShadowResult.objects.get(pk=result.pk)


def everything() -> list[Any]:
    return [
        list(model.objects.order_by("pk").values()) for model in (Allocation, Consumer, Inventory, SchedulingDecision)
    ]


def test_shadow_that_agrees_is_recorded_so() -> None:
    fleet(3)
    shadowed({})
    result = ran(decided())
    assert (result.outcome, result.moved_count, result.score_difference) == ("same", 0, 0.0)
    assert result.decided_host == result.shadow_host
    assert result.decided_fragmentation == result.shadow_fragmentation


def test_moved_winner_is_recorded_with_the_points_it_gains() -> None:
    uneven_fleet()
    shadowed(STACKING)
    result = ran(decided())
    assert (result.outcome, result.moved_count) == ("elsewhere", 1)
    assert (result.decided_host, result.shadow_host) == ("cmp-00", "cmp-01")
    assert result.score_difference == 0.5


def test_shadow_that_stacks_leaves_less_fragmented_room() -> None:
    uneven_fleet()
    shadowed(STACKING)
    result = ran(decided())
    assert (result.decided_fragmentation, result.shadow_fragmentation) == (0.5, 0.0)


def test_shadow_that_finds_no_host_is_recorded_as_failure() -> None:
    fleet(2)
    shadowed(NO_HOST)
    result = ran(decided())
    assert (result.outcome, result.shadow_host, result.moved_count) == ("would_fail", "", 1)


def test_shadow_sees_that_it_would_have_found_a_host() -> None:
    fleet(2)
    policy_create(body=NO_HOST, activate=True)
    shadowed({})
    assert ran(decided()).outcome == "would_succeed"


def test_request_that_fits_nowhere_fails_under_both() -> None:
    fleet(2)
    shadowed(STACKING)
    assert ran(decided(request(memory_mib=9000))).outcome == "both_fail"


def test_mistake_of_a_plug_in_is_recorded_and_not_raised() -> None:
    fleet(2)
    shadowed(BROKEN)
    result = ran(decided())
    assert result.outcome == "error"
    assert "Broken" in result.error


def test_result_that_cannot_be_kept_is_not_raised() -> None:
    fleet(1)
    policy_id = shadowed({})
    run, shadow = decided(), shadow_policy()
    assert shadow is not None
    ran(run)
    assert shadow_run(run=run, shadow=shadow) is None
    assert shadow_report(policy_id=policy_id).runs == 1


@pytest.mark.parametrize("body", [{}, STACKING, NO_HOST, BROKEN])
def test_shadow_changes_nothing_but_its_results(body: dict[str, Any]) -> None:
    uneven_fleet()
    shadowed(body)
    run = decided(request(2))
    before = everything()
    ran(run)
    assert everything() == before


def test_report_sums_up_what_was_found() -> None:
    uneven_fleet()
    policy_id = shadowed(STACKING)
    ran(decided())
    ran(decided())
    ran(decided(request(memory_mib=9000)))
    found = shadow_report(policy_id=policy_id)
    assert (found.runs, found.outcomes["elsewhere"], found.outcomes["both_fail"]) == (3, 2, 1)
    assert (found.instances, found.moved_instances, found.score_difference) == (3, 2, 0.5)
    assert found.agreement == pytest.approx(1 / 3)
    assert found.moves == (ShadowMove("cmp-00", "cmp-01", 2),)


def test_report_without_runs_has_no_agreement() -> None:
    found = shadow_report(policy_id=shadowed({}))
    assert (found.runs, found.agreement, found.moves) == (0, None, ())


def test_share_is_the_same_for_the_same_request_and_about_as_large_as_asked() -> None:
    ids = [f"req-{number}" for number in range(2000)]
    inside = [each for each in ids if is_in_share(each, 0.3)]
    assert inside == [each for each in ids if is_in_share(each, 0.3)]
    assert 500 < len(inside) < 700
    assert set(inside) <= {each for each in ids if is_in_share(each, 0.5)}


def test_share_of_0_is_nobody_and_of_1_everybody() -> None:
    ids = [f"req-{number}" for number in range(200)]
    assert [is_in_share(each, 0.0) for each in ids] == [False] * 200
    assert [is_in_share(each, 1.0) for each in ids] == [True] * 200


@pytest.fixture
def done() -> Iterator[None]:
    yield
    assert shadow_wait(timeout_s=PATIENCE_S)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("done")
def test_offered_run_is_done_later_by_a_thread() -> None:
    fleet(2)
    policy_id = shadowed({})
    offered()
    assert shadow_wait(timeout_s=PATIENCE_S)
    assert shadow_report(policy_id=policy_id).outcomes["same"] == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("done")
def test_request_outside_of_the_share_is_left_alone() -> None:
    fleet(2)
    policy_id = shadowed({}, share=0.0)
    offered()
    assert shadow_wait(timeout_s=PATIENCE_S)
    assert shadow_report(policy_id=policy_id).runs == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("done")
def test_real_decisions_are_shadowed_whether_they_find_a_host_or_not() -> None:
    uneven_fleet()
    policy_id = shadowed(STACKING)
    found = destinations_select(request=request(), inputs=scheduling_inputs())
    assert shadow_wait(timeout_s=PATIENCE_S)  # SQLite in memory lets two threads write one after the other only
    with pytest.raises(NoValidHost):
        destinations_select(request=request(memory_mib=9000), inputs=scheduling_inputs())
    assert shadow_wait(timeout_s=PATIENCE_S)
    assert found.instances[0].selected.host == "cmp-00"
    report = shadow_report(policy_id=policy_id)
    assert (report.runs, report.outcomes["elsewhere"], report.outcomes["both_fail"]) == (2, 1, 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("done")
def test_broken_shadow_fails_no_request() -> None:
    fleet(2)
    policy_id = shadowed(BROKEN)
    assert destinations_select(request=request(), inputs=scheduling_inputs()).instances
    assert shadow_wait(timeout_s=PATIENCE_S)
    assert shadow_report(policy_id=policy_id).outcomes["error"] == 1
