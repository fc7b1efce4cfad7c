"""Lists and clean-ups of tables that only grow read the few rows they need, by an index, however large the table is."""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.identity.domain import Caller
from controlplane.work.control import work_counts
from controlplane.work.models import Work
from servers.instances.selectors.activity import request_activity
from servers.instances.services.prune import deleted_instances_prune
from servers.models import Instance, InstanceAction
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
SIZES = (400, 4000)


def plans(ask: Callable[[], object]) -> dict[str, str]:
    """The database's plan of every SELECT that `ask` makes."""
    table = "ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(table)
        with CaptureQueriesContext(connection) as asked:
            ask()
        explain = "EXPLAIN " if world.is_postgres() else "EXPLAIN QUERY PLAN "
        found = {}
        for sql in [query["sql"] for query in asked.captured_queries if query["sql"].startswith("SELECT")]:
            cursor.execute(explain + sql)
            found[sql] = "\n".join(str(row[-1]) for row in cursor.fetchall())
    return found


def plan_of(table: str, ask: Callable[[], object]) -> str:
    """The plan of the first question to this table."""
    return next(plan for sql, plan in plans(ask).items() if f'FROM "{table}"' in sql)


def actions(count: int, project: uuid.UUID) -> None:
    now = timezone.now()
    InstanceAction.objects.bulk_create(
        InstanceAction(
            instance_uuid=uuid.uuid4(),
            action="start",
            project_id=project if number % 10 == 0 else uuid.uuid4(),
            started_at=now - timedelta(seconds=number),
        )
        for number in range(count)
    )


@pytest.mark.parametrize(("person", "index"), [("admin", "action_newest"), ("member", "action_newest_of_project")])
def test_newest_actions_are_read_by_an_index(person: str, index: str) -> None:
    caller: Caller = getattr(world.people(), person)
    actions(SIZES[1], caller.project_id)
    plan = plan_of("servers_instanceaction", lambda: request_activity(caller=caller, limit=12))
    assert index in plan
    assert "TEMP B-TREE" not in plan
    if person == "admin":  # of a project there are few enough here for PostgreSQL to sort what the index finds
        assert "Sort" not in plan


@pytest.mark.parametrize("person", ["admin", "member"])
def test_newest_actions_take_as_many_queries_at_any_size(person: str, django_assert_num_queries: Any) -> None:
    caller: Caller = getattr(world.people(), person)
    for size in SIZES:
        actions(size, caller.project_id)
        with django_assert_num_queries(2):  # of no request and of nobody, so nothing more is read of these
            assert len(request_activity(caller=caller, limit=12)) == 12


def instances(count: int, deleted_at: datetime | None) -> None:
    Instance.objects.bulk_create(
        Instance(
            name="i",
            project_id=uuid.UUID(int=1),
            user_id=uuid.UUID(int=2),
            flavor={},
            vcpus=1,
            memory_mib=1,
            deleted_at=deleted_at,
        )
        for _ in range(count)
    )


def test_instances_that_are_due_to_go_are_found_by_an_index() -> None:
    instances(SIZES[0] * 2, None)
    instances(SIZES[0] // 5, timezone.now())
    assert "instance_deleted" in plan_of("servers_instance", deleted_instances_prune)


def test_counts_of_open_work_look_at_open_work_only() -> None:
    now = timezone.now()
    ended = [Work(queue="q", kind="k", subject=uuid.uuid4(), state="done", deadline_at=now) for _ in range(SIZES[1])]
    Work.objects.bulk_create([*ended, Work(queue="q", kind="k", subject=uuid.uuid4(), deadline_at=now)])
    assert "work_o" in plan_of("work_work", work_counts)
