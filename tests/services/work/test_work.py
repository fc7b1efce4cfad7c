"""Work rows: taking, fencing, releasing, ending."""

import time
import uuid
from typing import Any

import pytest
from django.db import transaction

from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Fenced
from controlplane.work import jobs
from controlplane.work.models import Wakeup, Work, WorkState
from controlplane.work.wakeups import waiter_open
from controlplane.work.work import (
    NewWork,
    WorkLease,
    untaken_work,
    work_cancel,
    work_create,
    work_fence,
    work_finish,
    work_release,
    work_take,
    work_take_again,
    works_fence,
    works_finish,
    works_take,
)

pytestmark = pytest.mark.django_db(transaction=True)


def new(kind: str = "build", **changes: object) -> Work:
    fields = {"queue": "compute.h1", "kind": kind, "subject": uuid.uuid4(), "deadline_s": 60.0, **changes}
    return work_create(NewWork(**fields))  # type: ignore[arg-type]


def taken(work: Work) -> WorkLease:
    found = work_take(work_id=work.pk, owner="me")
    assert found is not None
    return found[1]


def expire(work: Work) -> None:
    Work.objects.filter(pk=work.pk).update(lease_until=now_plus(-1))


def test_create_sends_a_wakeup_to_its_queue() -> None:
    work = new()
    wakeups = waiter_open("compute.h1").wait(0)
    assert [(wakeup.code, wakeup.ref) for wakeup in wakeups] == [("build", str(work.pk))]
    assert waiter_open("compute.h1").wait(0) == []


def test_create_rolled_back_leaves_no_wakeup() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        new()
        raise RuntimeError
    assert not Wakeup.objects.exists()
    assert not Work.objects.exists()


def test_same_kind_twice_for_one_subject_is_a_conflict() -> None:
    work = new()
    with pytest.raises(Conflict):
        new(subject=work.subject)
    work_finish(lease=taken(work))
    new(subject=work.subject)


def test_take_adds_one_to_attempt_and_nobody_else_gets_it() -> None:
    work = new()
    assert taken(work).attempt == 1
    assert work_take(work_id=work.pk, owner="other") is None


def test_take_of_another_queue_finds_nothing() -> None:
    assert work_take(work_id=new().pk, owner="h2", queue="compute.h2") is None


def test_the_owner_of_a_lease_has_it_again_with_the_same_attempt_while_it_holds() -> None:
    work = new()
    lease = taken(work)
    owner = Work.objects.get(pk=work.pk).lease_owner
    again = work_take_again(work_id=work.pk, owner=owner, queue=work.queue)
    assert again is not None
    assert again[1] == lease
    assert work_take_again(work_id=work.pk, owner="other", queue=work.queue) is None
    assert work_take_again(work_id=work.pk, owner=owner, queue="compute.h2") is None
    assert work_take_again(work_id="nonsense", owner=owner, queue=work.queue) is None
    expire(work)
    assert work_take_again(work_id=work.pk, owner=owner, queue=work.queue) is None
    second = taken(work)
    work_finish(lease=second)
    assert work_take_again(work_id=work.pk, owner=owner, queue=work.queue) is None


def test_expired_lease_is_taken_over_and_the_first_owner_is_fenced() -> None:
    work = new()
    first = taken(work)
    expire(work)
    second = taken(work)
    assert second.attempt == 2
    for late_write in (work_fence, work_finish):
        with pytest.raises(Fenced):
            late_write(lease=first)
    work_finish(lease=second)
    assert Work.objects.get(pk=work.pk).state == WorkState.DONE


def test_expired_lease_may_not_write_even_when_nobody_took_over() -> None:
    work = new()
    lease = taken(work)
    expire(work)
    with pytest.raises(Fenced):
        work_fence(lease=lease)


def test_release_gives_it_back_with_its_error() -> None:
    work = new()
    work_release(lease=taken(work), error="the disk is on fire")
    work.refresh_from_db()
    assert (work.state, work.outcome) == (WorkState.WAITING, {"error": "the disk is on fire"})
    assert taken(work).attempt == 2


def test_cancel_fences_whoever_runs_it() -> None:
    work = new()
    lease = taken(work)
    assert work_cancel(subject=work.subject) == 1
    with pytest.raises(Fenced):
        work_fence(lease=lease)
    assert work_take(work_id=work.pk, owner="me") is None


def test_untaken_work_lists_waiting_and_expired_only() -> None:
    waiting, running, expired = new(), new(), new()
    taken(running)
    taken(expired)
    expire(expired)
    assert {pk for _, pk in untaken_work(queue="compute.h1")} == {waiting.pk, expired.pk}


def test_several_are_taken_fenced_and_ended_at_once_and_only_those_that_are_ours() -> None:
    mine, lost, other_queue = new(), new(), new(queue="compute.h2")
    leases = [
        lease for _, lease in works_take(work_ids=[mine.pk, lost.pk, other_queue.pk], owner="me", queue=mine.queue)
    ]
    assert {lease.work_id for lease in leases} == {mine.pk, lost.pk}
    expire(lost)
    assert works_fence(leases=leases, step="halfway") == {mine.pk}
    assert works_finish(outcomes={lease: {"by": str(lease.work_id)} for lease in leases}) == {mine.pk}
    mine.refresh_from_db()
    assert (mine.state, mine.step, mine.outcome) == (WorkState.DONE, "halfway", {"by": str(mine.pk)})


def test_work_of_a_package_is_taken_when_its_turn_comes_and_what_is_late_stays_untaken(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "LEASE_S": 3600.0}
    untaken_meanwhile = []

    def slow(work: Work, lease: WorkLease) -> None:
        untaken_meanwhile.append(Work.objects.filter(state=WorkState.WAITING, attempt=0).count())
        work_finish(lease=lease)
        if len(untaken_meanwhile) == 2:  # a third of a lease is over after this one, and not before
            settings.KILONOVA = {**settings.KILONOVA, "LEASE_S": 1.0}
            time.sleep(0.4)

    jobs.kind_register("slow", handler=slow, overdue=lambda work, reason: None)
    try:
        works = [new("slow", queue="conductor") for _ in range(4)]
        jobs.answer_all([("slow", str(work.pk)) for work in works])
    finally:
        del jobs.KINDS["slow"]
    assert untaken_meanwhile == [3, 2]
    assert Work.objects.filter(state=WorkState.WAITING, attempt=0).count() == 2
