"""The reconciler: sends the wake-up again, ends what is overdue, with the consequence in the same transaction."""

import uuid
from collections.abc import Iterator
from itertools import product

import pytest
from pytest_django import DjangoAssertNumQueries

from controlplane.infra.db import now_plus
from controlplane.work import jobs
from controlplane.work.models import Wakeup, Work, WorkState
from controlplane.work.named_leases import lease_is_held, lease_renew
from controlplane.work.reconcile import (
    BATCH,
    end_overdue,
    reconcile_once,
    reconcile_round,
    round_due,
    wakeups_resend,
)
from controlplane.work.wakeups import waiter_open
from controlplane.work.work import NewWork, work_create, work_take, works_create

pytestmark = pytest.mark.django_db(transaction=True)
ended: list[tuple[uuid.UUID, str]] = []


@pytest.fixture(autouse=True)
def kind() -> Iterator[None]:
    ended.clear()
    jobs.kind_register("probe", handler=None, overdue=lambda work, reason: ended.append((work.subject, reason)))
    jobs.kind_register("broken", handler=None, overdue=_raise)
    yield
    del jobs.KINDS["probe"], jobs.KINDS["broken"]


def _raise(work: Work, reason: str) -> None:
    raise RuntimeError("the consequence failed")


def new(kind: str = "probe") -> Work:
    work = work_create(NewWork("conductor", kind, uuid.uuid4(), 60.0, max_attempts=2))
    Wakeup.objects.all().delete()
    return work


def age(work: Work, **changes: object) -> None:
    Work.objects.filter(pk=work.pk).update(**changes)


def test_lost_wakeup_is_sent_again_once_it_is_old() -> None:
    work = new()
    assert wakeups_resend() == 0
    age(work, woken_at=now_plus(-10))
    assert wakeups_resend() == 1
    assert [wakeup.ref for wakeup in waiter_open("conductor").wait(0)] == [str(work.pk)]
    assert wakeups_resend() == 0


def test_running_work_with_a_valid_lease_is_left_alone() -> None:
    work = new()
    assert work_take(work_id=work.pk, owner="me")
    age(work, woken_at=now_plus(-10))
    assert reconcile_once() == (0, 0)


def test_work_past_its_deadline_fails_and_its_consequence_runs_once() -> None:
    work = new()
    age(work, deadline_at=now_plus(-1))
    assert end_overdue() == 1
    assert end_overdue() == 0
    work.refresh_from_db()
    assert work.state == WorkState.FAILED
    assert [subject for subject, _ in ended] == [work.subject]
    assert "deadline" in ended[0][1]


def test_work_out_of_attempts_fails_with_the_number_of_attempts() -> None:
    work = new()
    for _ in range(2):
        assert work_take(work_id=work.pk, owner="me")
        age(work, lease_until=now_plus(-1))
    assert work_take(work_id=work.pk, owner="me") is None
    assert end_overdue() == 1
    assert "2 attempts" in ended[0][1]


def test_consequence_that_fails_leaves_the_row_open_and_others_are_ended() -> None:
    bad, good = new("broken"), new()
    for work in (bad, good):
        age(work, deadline_at=now_plus(-1))
    assert end_overdue() == 1
    bad.refresh_from_db()
    assert bad.state == WorkState.WAITING
    assert [subject for subject, _ in ended] == [good.subject]


def test_consequences_that_fail_every_time_do_not_keep_the_others_from_their_turn() -> None:
    works_create([NewWork("conductor", "broken", uuid.uuid4(), 60.0) for _ in range(BATCH)])
    Work.objects.update(deadline_at=now_plus(-100))
    good = new()
    age(good, deadline_at=now_plus(-1))
    assert end_overdue() + end_overdue() == 1
    assert [subject for subject, _ in ended] == [good.subject]


def test_solo_lease_is_one_owners_until_it_runs_out() -> None:
    assert lease_renew(name="job", owner="a", seconds=60)
    assert lease_renew(name="job", owner="a", seconds=60)
    assert not lease_renew(name="job", owner="b", seconds=60)
    assert lease_is_held("job")
    assert lease_renew(name="job", owner="a", seconds=-1)
    assert not lease_is_held("job")
    assert lease_renew(name="job", owner="b", seconds=60)


def test_unknown_code_of_a_wakeup_does_nothing() -> None:
    jobs.answer("os.system", "rm")
    assert not Work.objects.exists()


def test_a_turn_does_what_is_due_and_only_for_whoever_holds_the_lease() -> None:
    quiet, late = new(), new()
    age(quiet, woken_at=now_plus(-10))
    age(late, deadline_at=now_plus(-1))
    reconcile_round(owner="a", seconds=60)
    assert [subject for subject, _ in ended] == [late.subject]
    assert [wakeup.ref for wakeup in waiter_open("conductor").wait(0)] == [str(quiet.pk)]
    age(quiet, woken_at=now_plus(-10))
    reconcile_round(owner="b", seconds=60)
    assert not Wakeup.objects.exists()
    reconcile_round(owner="a", seconds=60)
    assert [wakeup.ref for wakeup in waiter_open("conductor").wait(0)] == [str(quiet.pk)]


def test_a_turn_with_nothing_due_costs_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    reconcile_round(owner="a", seconds=60)
    with django_assert_num_queries(1):
        reconcile_round(owner="a", seconds=60)


def test_a_round_in_one_statement_finds_due_what_the_plain_rounds_do() -> None:
    assert round_due("a", 60) is None  # nobody has held the lease yet
    reconcile_round(owner="a", seconds=60)
    times = (None, -10, 10)
    for state, lease, attempt, deadline, woken in product(
        ("waiting", "running", "done"), times, (0, 2), (-1, 60), times
    ):
        work = new()
        at = {name: None if seconds is None else now_plus(seconds) for name, seconds in (("l", lease), ("w", woken))}
        age(work, state=state, lease_until=at["l"], attempt=attempt, deadline_at=now_plus(deadline), woken_at=at["w"])
        due = round_due("a", 60)
        assert due is not None
        # Done by the plain rounds, as whoever holds the lease of a turn would do it.
        assert (due.wakeup, due.end) == (wakeups_resend() > 0, end_overdue() > 0), (state, lease, attempt, deadline)
        Work.objects.all().delete()
