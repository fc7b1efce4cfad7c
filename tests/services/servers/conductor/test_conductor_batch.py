"""Several reservations that wait at the same time: done together, each with its own decision, row and end."""

import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.work import jobs
from controlplane.work.models import Work, WorkState
from controlplane.work.reconcile import reconcile_once
from controlplane.work.wakeups import waiter_open
from controlplane.work.work import work_cancel, works_take
from placement.selectors import allocations_by_consumer
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.models import SchedulingDecision
from scheduling.policies.services.policies import policy_create
from servers.catalog.domain.groups import GroupPolicy
from servers.conductor.build import schedule_and_build
from servers.conductor.reservations import reservations_grouped, reservations_read
from servers.instances.work_kinds import SCHEDULE_AND_BUILD
from servers.models import BuildRequest, Instance, RequestSpec, ServerGroup
from servers.repair.services.audit import audit_findings
from servers.states import VmState
from tests.services.servers.conductor import interrupted_scheduler
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def waiting() -> list[str]:
    rows = Work.objects.filter(kind=SCHEDULE_AND_BUILD, state=WorkState.WAITING).order_by("created_at")
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


def answer(works: Sequence[str]) -> None:
    jobs.answer_all([(SCHEDULE_AND_BUILD, pk) for pk in works])


def states(kind: str) -> list[str]:
    return sorted(Work.objects.filter(kind=kind).values_list("state", flat=True))


def test_several_are_placed_each_by_a_decision_of_its_own() -> None:
    who = world.cloud("h1", "h2")
    made = [world.create(who.member, f"vm-{number}")[0] for number in range(3)]
    works = waiting()
    answer(works)
    rows = {row.pk: row for row in Instance.objects.all()}
    assert set(rows) == {one.pk for one in made}
    assert len({row.decision_id for row in rows.values()}) == SchedulingDecision.objects.count() == 3
    assert states(SCHEDULE_AND_BUILD) == [WorkState.DONE] * 3
    assert {work.outcome["decision"] for work in Work.objects.filter(pk__in=works)} == {
        str(row.decision_id) for row in rows.values()
    }
    assert {work.request_id for work in Work.objects.filter(kind=WorkKind.BUILD)} == {
        row.request_id for row in rows.values()
    }
    assert not BuildRequest.objects.exists()


def test_each_sees_those_before_it_on_their_hosts() -> None:
    who = world.cloud("h1", "h2")
    for number in range(4):
        world.create(who.member, f"vm-{number}")
    answer(waiting())
    assert sorted(Instance.objects.values_list("host", flat=True)) == ["h1", "h1", "h2", "h2"]


def test_one_without_a_host_is_moved_to_cell0_and_the_others_go_on() -> None:
    who = world.cloud()
    world.flavor("huge", memory_mib=9000)
    good, bad, also = (world.create(who.member, name, flavor=name)[0] for name in ("m1.tiny", "huge", "m1.tiny"))
    answer(waiting())
    found = dict(Instance.objects.values_list("pk", "vm_state"))
    assert found == {good.pk: VmState.BUILDING, bad.pk: VmState.ERROR, also.pk: VmState.BUILDING}
    assert states(SCHEDULE_AND_BUILD) == [WorkState.DONE] * 3


def test_one_whose_lease_is_lost_meanwhile_is_not_dispatched_and_the_others_are() -> None:
    who = world.cloud()
    made = [world.create(who.member, f"vm-{number}")[0] for number in range(3)]
    taken = works_take(work_ids=waiting(), owner="me")
    lost = taken[1][0].subject
    work_cancel(subject=lost)
    assert schedule_and_build(taken) == []
    alive = {one.pk for one in made if one.reservation_id != lost}
    assert set(Instance.objects.values_list("pk", flat=True)) == alive
    assert set(Work.objects.filter(kind=WorkKind.BUILD).values_list("subject", flat=True)) == alive


def test_one_deleted_meanwhile_leaves_neither_claim_nor_row() -> None:
    who = world.cloud()
    made = [world.create(who.member, f"vm-{number}")[0] for number in range(3)]
    works = waiting()
    BuildRequest.objects.filter(instance_uuid=made[0].pk).delete()
    answer(works)
    assert set(Instance.objects.values_list("pk", flat=True)) == {made[1].pk, made[2].pk}
    assert made[0].pk not in allocations_by_consumer([one.pk for one in made])
    assert states(SCHEDULE_AND_BUILD) == [WorkState.DONE] * 3


def test_what_names_a_group_or_was_cut_off_before_is_placed_by_itself() -> None:
    who = world.cloud("h1", "h2")
    group = ServerGroup.objects.create(
        name="g", project_id=who.member.project_id, user_id=who.member.user_id, policy=GroupPolicy.ANTI_AFFINITY
    )
    plain = [world.create(who.member, f"vm-{number}")[0] for number in range(2)]
    grouped = world.create(who.member, "grouped", hints={"group": str(group.pk)})[0]
    again = world.create(who.member, "again")[0]
    Work.objects.filter(subject=again.reservation_id).update(attempt=1)
    taken = works_take(work_ids=waiting(), owner="me")
    groups = reservations_grouped(reservations_read(taken), scheduling_inputs())
    assert [{one.work.subject for one in group} for group in groups] == [
        {one.reservation_id for one in plain},
        {grouped.reservation_id},
        {again.reservation_id},
    ]
    assert schedule_and_build(taken) == []
    assert set(Instance.objects.values_list("pk", flat=True)) == {one.pk for one in [*plain, grouped, again]}


def test_one_that_fails_is_tried_again_by_itself_and_keeps_no_other_from_its_host() -> None:
    who = world.cloud("h1", "h2")
    made = [world.create(who.member, f"vm-{number}")[0] for number in range(3)]
    broken = RequestSpec.objects.get(instance_uuid=made[1].pk)
    body = broken.body
    RequestSpec.objects.filter(pk=broken.pk).update(body={**body, "flavor": {"no": "flavor"}})
    answer(waiting())
    assert set(Instance.objects.values_list("pk", flat=True)) == {made[0].pk, made[2].pk}
    work = Work.objects.get(subject=made[1].reservation_id)
    assert (work.state, work.attempt) == (WorkState.WAITING, 1)
    RequestSpec.objects.filter(pk=broken.pk).update(body=body)
    answer([str(work.pk)])
    assert Instance.objects.get(pk=made[1].pk).host
    assert audit_findings() == []


def test_several_of_a_project_whose_quota_was_lowered_meanwhile_all_go_to_cell0() -> None:
    who = world.cloud("h1", "h2")
    for number in range(3):
        world.create(who.member, f"vm-{number}")
    Project.objects.filter(pk=who.member.project_id).update(quota_instances=1)
    answer(waiting())
    assert set(Instance.objects.values_list("vm_state", "host")) == {(VmState.ERROR, "")}
    assert allocations_by_consumer() == {}
    assert all("Over quota" in work.outcome["error"] for work in Work.objects.filter(kind=SCHEDULE_AND_BUILD))
    assert audit_findings() == []


def test_best_effort_batch_among_others_places_what_fits() -> None:
    who = world.cloud("h1", vcpus=1, memory_mib=2048)  # 1536 MiB after the reserve: three of 512
    world.create(who.member, "one")
    world.create(who.member, "some", min_count=1, max_count=4, batch="best_effort")
    answer(waiting())
    assert sorted(Instance.objects.values_list("vm_state", flat=True)) == ["building"] * 3 + ["error"] * 2
    assert len(allocations_by_consumer()) == 3
    assert audit_findings() == []


def test_nonsense_among_the_wakeups_keeps_nobody_from_being_answered() -> None:
    who = world.cloud()
    world.create(who.member)
    wakeups = [("os.system", "rm"), (SCHEDULE_AND_BUILD, "nonsense"), (SCHEDULE_AND_BUILD, str(uuid.uuid4()))]
    jobs.answer_all([*wakeups, *((SCHEDULE_AND_BUILD, pk) for pk in waiting())])
    assert states(SCHEDULE_AND_BUILD) == [WorkState.DONE]


SLOW_S, LEASE_S, MANY = 0.45, 1.5, 7


@pytest.fixture
def slow_scheduler(settings: Any) -> Iterator[list[Any]]:
    """Each choice takes a third of a lease, so a package of seven takes twice as long as one lasts."""
    settings.KILONOVA = {**settings.KILONOVA, "LEASE_S": LEASE_S}
    policy_create(body={"scheduler": interrupted_scheduler.NAME}, activate=True)
    interrupted_scheduler.ACTS[:] = [lambda: time.sleep(SLOW_S)] * 100
    yield interrupted_scheduler.ACTS
    interrupted_scheduler.ACTS.clear()


def serve_until_all_ended() -> None:
    """A worker that takes what rings, as one package, and a reconciler beside it."""
    until = time.monotonic() + 30
    waiter = waiter_open("conductor")
    while Work.objects.filter(kind=SCHEDULE_AND_BUILD, state__in=["waiting", "running"]).exists():
        assert time.monotonic() < until
        jobs.answer_all([(wakeup.code, wakeup.ref) for wakeup in waiter.wait(0)])
        reconcile_once()
    waiter.close()


@pytest.mark.long
def test_slow_scheduling_of_a_full_package_loses_no_lease_and_chooses_once_for_each(slow_scheduler: list[Any]) -> None:
    who = world.cloud("h1", "h2")
    for number in range(MANY):
        world.create(who.member, f"vm-{number}")
    Work.objects.filter(kind=SCHEDULE_AND_BUILD).update(max_attempts=2)
    serve_until_all_ended()
    assert sorted(Instance.objects.values_list("vm_state", flat=True)) == [VmState.BUILDING] * MANY
    assert 100 - len(slow_scheduler) == MANY


@pytest.mark.long
def test_what_a_package_does_not_begin_in_time_is_rung_for_again_and_costs_no_attempt(
    slow_scheduler: list[Any],
) -> None:
    who = world.cloud("h1", "h2")
    for number in range(4):
        world.create(who.member, f"vm-{number}")
    works = waiting()
    waiter = waiter_open("conductor")
    waiter.wait(0)
    answer(works)
    left = list(Work.objects.filter(kind=SCHEDULE_AND_BUILD, state=WorkState.WAITING))
    assert 0 < len(left) < 4
    assert {work.max_attempts - work.attempt for work in left} == {5}
    resent = {wakeup.ref for wakeup in waiter.wait(0) if wakeup.code == SCHEDULE_AND_BUILD}
    waiter.close()
    assert resent == {str(work.pk) for work in left}
