"""Clean-ups of the reconciler: when due, one at a time, one failing without the others."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoAssertNumQueries

from controlplane.infra.db import now_plus
from controlplane.work import jobs
from controlplane.work.models import NamedLease
from controlplane.work.reconcile import periodic_tasks_run, reconcile_round
from controlplane.work.wakeups import wakeup_send

pytestmark = pytest.mark.django_db(transaction=True)
ran: list[str] = []


@pytest.fixture(autouse=True)
def only_ours() -> Iterator[None]:
    ran.clear()
    kept = dict(jobs.PERIODIC_TASKS)
    jobs.PERIODIC_TASKS.clear()
    jobs.periodic_task_register("bad", every_s=60, run=lambda: 1 / 0)
    jobs.periodic_task_register("good", every_s=60, run=lambda: ran.append("good"))
    yield
    jobs.PERIODIC_TASKS.clear()
    jobs.PERIODIC_TASKS.update(kept)


def test_periodic_task_runs_once_until_it_is_due_again() -> None:
    assert periodic_tasks_run() == ["bad", "good"]
    assert periodic_tasks_run() == []
    NamedLease.objects.update(until=now_plus(-1))
    periodic_tasks_run()
    assert ran == ["good", "good"]


def test_round_with_nothing_due_costs_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    periodic_tasks_run()
    with django_assert_num_queries(1):
        assert periodic_tasks_run() == []


def test_periodic_task_that_asks_runs_only_while_the_answer_is_yes(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    reconcile_round(owner="me", seconds=60)
    asks = "EXISTS (SELECT 1 FROM work_wakeup)"
    jobs.periodic_task_register("asking", every_s=1, run=lambda: ran.append("asking"), asks=asks)
    with django_assert_num_queries(1):
        reconcile_round(owner="me", seconds=60)
    wakeup_send(queue="somebody", code="probe", ref="1")
    reconcile_round(owner="me", seconds=60)
    assert ran == ["good", "asking"]
