"""What an operator may do with work: wake again, cancel; never begin again what has ended."""

import uuid
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry

from controlplane.identity.models import User
from controlplane.infra.db import db_now, now_plus
from controlplane.kernel.errors import Conflict, Fenced, NotFound
from controlplane.work import jobs
from controlplane.work.control import Operator, work_cancel_one, work_counts, work_get, work_retry, work_status, works
from controlplane.work.filtersets import WorkFilterSet
from controlplane.work.models import Wakeup, Work, WorkState
from controlplane.work.wakeups import waiter_open
from controlplane.work.work import NewWork, work_create, work_fence, work_finish, work_take

pytestmark = pytest.mark.django_db(transaction=True)
ended: list[tuple[uuid.UUID, str]] = []


@pytest.fixture(autouse=True)
def kinds() -> Iterator[None]:
    ended.clear()
    jobs.kind_register("probe", handler=None, overdue=lambda work, reason: ended.append((work.subject, reason)))
    jobs.kind_register("broken", handler=None, overdue=_refuse)
    yield
    del jobs.KINDS["probe"], jobs.KINDS["broken"]


def _refuse(work: Work, reason: str) -> None:
    raise Conflict("the consequence is not possible now")


@pytest.fixture
def ada() -> Operator:
    user = User.objects.create_user(username="ada", password="correct horse battery")
    return Operator(user_id=user.pk, name="ada")


def new(kind: str = "probe", *, queue: str = "compute.h1") -> Work:
    work = work_create(NewWork(queue, kind, uuid.uuid4(), 60.0, max_attempts=2))
    Wakeup.objects.all().delete()
    return work_get(work_id=work.pk)


def changed(work: Work, **changes: object) -> Work:
    Work.objects.filter(pk=work.pk).update(**changes)
    return work_get(work_id=work.pk)


def running(work: Work) -> Work:
    assert work_take(work_id=work.pk, owner="h1:7", queue="compute.h1")
    return work_get(work_id=work.pk)


def resent() -> list[str]:
    return [wakeup.ref for wakeup in waiter_open("compute.h1").wait(0)]


def history(work: Work) -> list[tuple[uuid.UUID, str]]:
    rows = LogEntry.objects.filter(object_id=str(work.pk))
    return [(row.user_id, row.change_message) for row in rows]


def test_retry_of_waiting_work_sends_a_wakeup_and_changes_nothing_else(ada: Operator) -> None:
    work = changed(new(), attempt=1, woken_at=now_plus(-100))
    after = work_retry(work_id=work.pk, operator=ada)
    assert resent() == [str(work.pk)]
    assert after.woken_at is not None
    assert work.woken_at is not None
    assert after.woken_at > work.woken_at
    assert (after.state, after.attempt, after.deadline_at) == (work.state, work.attempt, work.deadline_at)


def test_retry_of_work_whose_lease_ran_out_sends_a_wakeup(ada: Operator) -> None:
    work = changed(running(new()), lease_until=now_plus(-1))
    work_retry(work_id=work.pk, operator=ada)
    assert resent() == [str(work.pk)]


def test_retry_of_work_with_a_valid_lease_is_refused_and_names_the_owner(ada: Operator) -> None:
    work = running(new())
    with pytest.raises(Conflict, match="h1:7 is at attempt 1"):
        work_retry(work_id=work.pk, operator=ada)
    assert resent() == []


def test_retry_of_work_without_attempts_left_is_refused_with_their_number(ada: Operator) -> None:
    work = changed(new(), attempt=2)
    with pytest.raises(Conflict, match="All 2 attempts"):
        work_retry(work_id=work.pk, operator=ada)


def test_retry_past_the_deadline_is_refused(ada: Operator) -> None:
    work = changed(new(), deadline_at=now_plus(-1))
    with pytest.raises(Conflict, match="passed its deadline"):
        work_retry(work_id=work.pk, operator=ada)


@pytest.mark.parametrize("state", [WorkState.DONE, WorkState.FAILED, WorkState.CANCELLED])
def test_what_has_ended_is_neither_retried_nor_cancelled(state: WorkState, ada: Operator) -> None:
    work = changed(new(), state=state, finished_at=now_plus(0))
    for service in (work_retry, work_cancel_one):
        with pytest.raises(Conflict, match=f"It is {state.value}"):
            service(work_id=work.pk, operator=ada)
    assert (resent(), ended, history(work)) == ([], [], [])


def test_unknown_work_is_not_found(ada: Operator) -> None:
    for service in (work_retry, work_cancel_one):
        with pytest.raises(NotFound):
            service(work_id=uuid.uuid4(), operator=ada)


def test_retry_is_written_down_with_who_asked(ada: Operator) -> None:
    work = new()
    work_retry(work_id=work.pk, operator=ada)
    assert history(work) == [(ada.user_id, "Woken again by ada, after attempt 0.")]


def test_cancelled_work_has_its_consequence_once_with_who_cancelled(ada: Operator) -> None:
    work = new()
    after = work_cancel_one(work_id=work.pk, operator=ada)
    assert (after.state, after.attempt, after.outcome) == ("cancelled", 1, {"error": "probe was cancelled by ada"})
    assert after.finished_at is not None
    assert ended == [(work.subject, "probe was cancelled by ada")]
    assert history(work) == [(ada.user_id, "probe was cancelled by ada.")]


def test_cancelling_fences_off_whoever_runs_it(ada: Operator) -> None:
    work = new()
    taken = work_take(work_id=work.pk, owner="h1:7", queue="compute.h1")
    assert taken is not None
    work_fence(lease=taken[1], step="spawning")

    work_cancel_one(work_id=work.pk, operator=ada)

    assert ended == [(work.subject, "probe was cancelled by ada in step spawning")]
    assert work_get(work_id=work.pk).outcome == {
        "error": "probe was cancelled by ada in step spawning; last held by h1:7"
    }
    for late in (work_fence, work_finish):
        with pytest.raises(Fenced):
            late(lease=taken[1])
    assert work_take(work_id=work.pk, owner="h1:8") is None


def test_cancelling_what_is_overdue_or_out_of_attempts_is_possible(ada: Operator) -> None:
    for changes in ({"deadline_at": now_plus(-1)}, {"attempt": 2}):
        work = changed(new(), **changes)
        assert work_cancel_one(work_id=work.pk, operator=ada).state == "cancelled"


def test_refused_consequence_leaves_the_work_open_and_nothing_written_down(ada: Operator) -> None:
    work = new("broken")
    with pytest.raises(Conflict, match="not possible now"):
        work_cancel_one(work_id=work.pk, operator=ada)
    assert (work_get(work_id=work.pk).state, history(work)) == ("waiting", [])


def test_kind_that_nobody_declared_is_not_cancelled(ada: Operator) -> None:
    work = new("forgotten")
    with pytest.raises(Conflict, match="the kind forgotten"):
        work_cancel_one(work_id=work.pk, operator=ada)
    assert work_get(work_id=work.pk).state == "waiting"


def test_actions_on_offer_are_those_that_would_be_taken() -> None:
    now = db_now()
    fresh, held = new(), running(new())
    assert work_status(fresh, now).actions == ["retry", "cancel"]
    assert work_status(held, db_now()).actions == ["cancel"]
    assert work_status(held, db_now() + timedelta(seconds=3600)).actions == ["cancel"]
    assert work_status(changed(held, state="done"), now).actions == []


def test_counts_tell_open_work_only() -> None:
    new()
    changed(new(), deadline_at=now_plus(-1), attempt=2)
    running(new())
    changed(running(new()), lease_until=now_plus(-1), attempt=2)
    changed(new(), state="failed", deadline_at=now_plus(-1), attempt=2)
    assert asdict(work_counts()) == {"waiting": 2, "running": 2, "retried": 2, "lapsed": 1, "overdue": 1}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"state": "open"}, {"fresh", "late", "held", "lost"}),
        ({"state": "waiting"}, {"fresh", "late"}),
        ({"state": "done"}, {"done"}),
        ({"overdue": "true"}, {"late"}),
        ({"overdue": "false"}, {"fresh", "held", "lost", "done"}),
        ({"lapsed": "true"}, {"lost"}),
        ({"lapsed": "false"}, {"fresh", "late", "held", "done"}),
        ({"retried": "true"}, {"lost"}),
        ({"retried": "false"}, {"fresh", "late", "held", "done"}),
        ({"host": "h1"}, {"fresh", "late", "held", "lost"}),
        ({"queue": "conductor"}, {"done"}),
        ({"kind": "broken"}, {"late"}),
        ({"host": "h1", "overdue": "true"}, {"late"}),
    ],
)
def test_filter_finds_its_rows(wanted: dict[str, str], found: set[str]) -> None:
    rows = {
        "fresh": new(),
        "late": changed(new("broken"), deadline_at=now_plus(-1)),
        "held": running(new()),
        "lost": changed(running(new()), lease_until=now_plus(-1), attempt=2),
        "done": changed(new(queue="conductor"), state="done", deadline_at=now_plus(-1)),
    }
    names = {work.pk: name for name, work in rows.items()}
    filters = WorkFilterSet(data=wanted, queryset=works())
    assert filters.is_valid()
    assert {names[work.pk] for work in filters.qs} == found
