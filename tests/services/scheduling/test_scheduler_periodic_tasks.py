"""A scheduler's `run_periodic_tasks` is called by the conductor's periodic tasks while a policy names it."""

import pytest

from controlplane.work.jobs import PERIODIC_TASKS
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.request.request_context import RequestContext
from scheduling.domain.trace.trace import Trace
from scheduling.jobs import scheduler_periodic_tasks
from scheduling.policies.services.policies import policy_create
from scheduling.schedulers import FilterScheduler, ScheduleCall

pytestmark = pytest.mark.django_db
RAN: list[RequestContext] = []


class Busy(FilterScheduler):
    def run_periodic_tasks(self, context: RequestContext) -> None:
        RAN.append(context)


class BusyUnrelated:
    def schedule(self, call: ScheduleCall) -> Trace:
        raise NotImplementedError

    def run_periodic_tasks(self, context: RequestContext) -> None:
        RAN.append(context)


class Exiting(FilterScheduler):
    def run_periodic_tasks(self, context: RequestContext) -> None:
        raise SystemExit(3)


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


def test_it_is_a_periodic_task_of_the_conductor() -> None:
    task = PERIODIC_TASKS["periodic tasks of the scheduler"]
    assert (task.run, task.every_s) == (scheduler_periodic_tasks, 60.0)


@pytest.mark.parametrize("name", ["Busy", "BusyUnrelated"])
def test_scheduler_of_the_active_policy_runs_its_tasks(name: str) -> None:
    scheduler_periodic_tasks()
    assert RAN == []
    policy_create(body={"scheduler": f"{__name__}.{name}"}, activate=True)
    scheduler_periodic_tasks()
    assert [context.is_admin for context in RAN] == [True]


def test_task_that_leaves_ends_no_worker() -> None:
    policy_create(body={"scheduler": f"{__name__}.Exiting"}, activate=True)
    with pytest.raises(PluginFailed, match="SystemExit"):
        scheduler_periodic_tasks()
