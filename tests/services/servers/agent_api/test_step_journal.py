"""What an agent tells of its steps: rows with their times, in few statements, from nobody but the lease's holder."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.bounds import STEPS_MAX
from computeagent.protocol.hosts import HostUsage
from computeagent.protocol.steps import StepEnd
from computeagent.protocol.work import WorkKind, WorkOrder
from controlplane.infra.db import db_now, now_plus
from controlplane.kernel.errors import Fenced
from controlplane.work.models import Work
from controlplane.work.work import work_fence
from scheduling.models import ComputeNode
from servers.agent_api import conductor_connect
from servers.agent_api.connection import row_lease
from servers.instances.actions.lifecycle import CREATE
from servers.instances.services.delete import instance_delete
from servers.instances.services.journal import STEPS_OF_ACTION_MAX
from servers.instances.services.state import step_task_set
from servers.models import Instance, InstanceActionEvent, ServerGroup, ServerGroupMember
from servers.states import TaskState
from tests.fixtures.patience import PATIENCE_S
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

SHORT = (StepEnd("claim", 3.0, 2.0), StepEnd("networking", 2.0, 1.5))
MAX_STATEMENTS_PER_BUILD = 16


def _build() -> tuple[Instance, WorkOrder]:
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    return world.instance_of(made.pk), world.order("h1", WorkKind.BUILD)


def _event(name: str) -> InstanceActionEvent:
    return InstanceActionEvent.objects.get(name=name)


def test_steps_that_were_no_rows_get_their_durations_on_the_databases_clock() -> None:
    _, order = _build()
    before = db_now()
    conductor_connect().record_steps(lease=order.lease, ended=SHORT, begins="block_device_mapping")
    claim = _event("claim")
    assert claim.finished_at
    assert claim.finished_at - claim.started_at == timedelta(seconds=1)
    rounding = timedelta(milliseconds=2)
    assert before - rounding <= claim.finished_at + timedelta(seconds=2) <= db_now() + rounding
    assert [(one.name, one.result) for one in InstanceActionEvent.objects.order_by("started_at")] == [
        ("claim", "success"),
        ("networking", "success"),
        ("block_device_mapping", ""),
    ]


def test_step_that_can_hang_is_read_from_rows_while_it_runs() -> None:
    instance, order = _build()
    conductor_connect().record_steps(lease=order.lease, ended=SHORT, begins="block_device_mapping")
    assert world.instance_of(instance.pk).task_state == "block_device_mapping"
    assert Work.objects.get(pk=order.lease.work_id).step == "block_device_mapping"
    assert _event("block_device_mapping").finished_at is None


def test_step_that_was_a_row_keeps_its_beginning() -> None:
    _, order = _build()
    conductor_connect().record_steps(lease=order.lease, begins="spawning")
    began = _event("spawning").started_at
    conductor_connect().record_steps(lease=order.lease, ended=[StepEnd("spawning", 50.0, 0.0, "no such machine")])
    ended = _event("spawning")
    assert (ended.started_at, ended.result, ended.details) == (began, "error", "no such machine")


def test_steps_told_twice_are_one_row_each() -> None:
    _, order = _build()
    for _ in range(2):
        conductor_connect().record_steps(lease=order.lease, ended=SHORT, begins="spawning")
    assert InstanceActionEvent.objects.count() == 3


def test_end_of_a_build_ends_its_last_step_in_the_same_transaction() -> None:
    instance, order = _build()
    conductor_connect().record_steps(lease=order.lease, begins="spawning")
    conductor_connect().build_done(lease=order.lease, facts=world.RUNNING, ended=[StepEnd("spawning", 1.0, 0.0)])
    assert _event("spawning").result == "success"
    found = world.instance_of(instance.pk)
    assert (found.vm_state, found.launched_on) == ("active", "h1")


def test_later_attempt_ends_what_the_first_was_cut_off_in() -> None:
    _, order = _build()
    conductor_connect().record_steps(lease=order.lease, begins="block_device_mapping")
    Work.objects.filter(pk=order.lease.work_id).update(lease_until=now_plus(-1))
    again = world.order("h1", WorkKind.BUILD)
    conductor_connect().build_done(lease=again.lease, facts=world.RUNNING, ended=[StepEnd("spawning", 1.0, 0.0)])
    assert not InstanceActionEvent.objects.filter(finished_at__isnull=True).exists()
    assert _event("block_device_mapping").result == "error"


@pytest.mark.parametrize(
    "change",
    [{"instance_uuid": str(uuid4())}, {"kind": "stop"}, {"instance_uuid": ""}],
    ids=["instance", "kind", "none"],
)
def test_lease_with_anothers_errand_is_fenced(change: dict[str, Any]) -> None:
    instance, order = _build()
    forged = replace(order.lease, work_context=replace(order.lease.work_context, **change))
    with pytest.raises(Fenced):
        conductor_connect().build_done(lease=forged, facts=world.RUNNING)
    with pytest.raises(Fenced):
        conductor_connect().record_steps(lease=forged, begins="spawning")
    assert world.instance_of(instance.pk).task_state == "scheduling"


def test_only_members_of_a_server_group_are_sent_to_its_check() -> None:
    instance, order = _build()
    assert not order.is_grouped
    group = ServerGroup.objects.create(
        name="g", project_id=instance.project_id, user_id=instance.user_id, policy="anti-affinity"
    )
    ServerGroupMember.objects.create(group=group, instance_uuid=instance.pk)
    Work.objects.filter(pk=order.lease.work_id).update(lease_until=now_plus(-1))
    assert world.order("h1", WorkKind.BUILD).is_grouped


def test_build_from_taking_to_active_needs_few_statements() -> None:
    who = world.cloud()
    world.create(who.member)
    world.pump()
    work = Work.objects.get(kind="build")
    conductor = conductor_connect()
    with CaptureQueriesContext(connection) as ran:
        order = conductor.take(host="h1", work_id=str(work.pk), owner="h1:1")
        assert order is not None
        conductor.record_steps(lease=order.lease, ended=SHORT, begins="block_device_mapping")
        ended = [StepEnd("block_device_mapping", 1.0, 0.0)]
        conductor.record_steps(lease=order.lease, ended=ended, begins="spawning")
        conductor.build_done(lease=order.lease, facts=world.RUNNING, ended=[StepEnd("spawning", 1.0, 0.0)])
    statements = [
        one["sql"]
        for one in ran.captured_queries
        if not one["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))
    ]
    assert len(statements) <= MAX_STATEMENTS_PER_BUILD, "\n".join(statements)


def test_usage_is_one_update_that_writes_only_what_changed() -> None:
    world.cloud()
    usage = HostUsage(vcpus=2, memory_mib=1024, disk_gib=3, running_guests=2)
    conductor_connect().usage(host="h1", usage=usage)
    node = ComputeNode.objects.get(host="h1")
    assert (node.vcpus_used, node.memory_used_mib, node.disk_used_gib, node.running_guests) == (2, 1024, 3, 2)
    with CaptureQueriesContext(connection) as ran:
        conductor_connect().usage(host="h1", usage=usage)
    assert len(ran) == 1
    assert ComputeNode.objects.get(host="h1").updated_at == node.updated_at


def test_deletion_beside_an_agents_write_waits_and_then_fences_it() -> None:
    if not world.is_postgres():
        pytest.skip("SQLite has one writer at a time")
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    order = world.order("h1", WorkKind.BUILD)
    problems: list[Exception] = []

    def delete() -> None:
        try:
            instance_delete(caller=who.member, instance_id=made.pk)
        except Exception as error:  # noqa: BLE001 - told to the test's own thread
            problems.append(error)
        finally:
            connection.close()

    deleting = threading.Thread(target=delete)
    with transaction.atomic():
        work_fence(lease=row_lease(order.lease))
        deleting.start()
        deleting.join(0.3)
        step_task_set(made.pk, CREATE, TaskState.SPAWNING)
    deleting.join(PATIENCE_S)
    assert problems == []
    assert world.instance_of(made.pk).task_state == "deleting"
    with pytest.raises(Fenced):
        conductor_connect().build_done(lease=order.lease, facts=world.RUNNING)


def test_steps_without_end_do_not_fill_the_journal(caplog: pytest.LogCaptureFixture) -> None:
    _, order = _build()
    for part in range(10):
        steps = [StepEnd(f"step-{part}-{at}", 1.0, 0.5) for at in range(STEPS_MAX)]
        conductor_connect().record_steps(lease=order.lease, ended=steps, begins=f"begun-{part}")
    kept = InstanceActionEvent.objects.count()
    assert STEPS_OF_ACTION_MAX <= kept <= STEPS_OF_ACTION_MAX + STEPS_MAX
    assert "more steps of one action than a journal takes" in caplog.text
    conductor_connect().record_steps(lease=order.lease, ended=SHORT, begins="spawning")
    assert InstanceActionEvent.objects.count() == kept + len(SHORT) + 1
    assert Work.objects.get(pk=order.lease.work_id).step == "spawning"
