"""A task that nobody works on ends by its rule; what is fresh, and what has open work, is left alone."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.work.heals import heals_prune
from controlplane.work.jobs import PERIODIC_TASKS
from controlplane.work.models import Heal, Work, WorkState
from controlplane.work.reconcile import reconcile_once
from placement.models import Consumer
from placement.selectors import allocations_by_consumer
from servers.agent_api import conductor_connect
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.state import state_set
from servers.models import AttemptRecord, BuildRequest, Instance, InstanceAction, InstanceActionEvent, InstanceFault
from servers.repair.selectors.stuck_tasks import instances_with_overdue_task
from servers.repair.services.claim_sweep import orphan_claims_free
from servers.repair.services.task_heal import lost_tasks_heal, overdue_tasks_heal, task_heal
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

LONG_S = 100_000.0


def stuck(instance: Instance, *, age_s: float = LONG_S, **changes: Any) -> Instance:
    """The instance as if its work had vanished and the task had stood for `age_s`."""
    Work.objects.filter(subject=instance.pk).exclude(state=WorkState.DONE).update(state=WorkState.CANCELLED)
    Instance.objects.filter(pk=instance.pk).update(task_since=now_plus(-age_s), **changes)
    return world.instance_of(instance.pk)


def open_kinds(instance: Instance) -> list[str]:
    rows = Work.objects.filter(subject=instance.pk, state__in=[WorkState.WAITING, WorkState.RUNNING])
    return list(rows.values_list("kind", flat=True))


def states(instance: Instance) -> tuple[str, str]:
    now = world.instance_of(instance.pk)
    return now.vm_state, now.task_state


def test_fresh_task_without_work_is_left_alone() -> None:
    instance = stuck(world.active(world.cloud().member), age_s=30.0, task_state="pausing")
    assert overdue_tasks_heal() == 0
    assert states(instance) == ("active", "pausing")
    assert not Heal.objects.exists()


def test_old_task_with_open_work_is_left_to_that_work() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    Instance.objects.filter(pk=instance.pk).update(task_since=now_plus(-LONG_S))
    assert overdue_tasks_heal() == 0
    assert states(instance) == ("active", "powering-off")
    assert open_kinds(instance) == ["stop"]


def test_instance_without_a_task_is_left_alone() -> None:
    instance = world.active(world.cloud().member)
    Instance.objects.update(updated_at=now_plus(-LONG_S))
    assert overdue_tasks_heal() == 0
    assert states(instance) == ("active", "")


def test_lost_stop_is_tried_again_under_the_same_action() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    stuck(instance)
    assert overdue_tasks_heal() == 1
    assert states(instance) == ("active", "powering-off")
    conductor_connect().action_done(lease=world.order("h1", WorkKind.STOP).lease, facts=world.OFF)
    assert states(instance) == ("stopped", "")
    action = InstanceAction.objects.get(instance_uuid=instance.pk, action="stop")
    assert (action.result, action.attempt) == ("success", 1)
    assert not InstanceFault.objects.exists()


def test_lost_work_leaves_an_event_that_says_which_step_hung_for_how_long() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    stuck(instance)
    overdue_tasks_heal()
    event = InstanceActionEvent.objects.get(action__action="stop", name="powering-off")
    assert event.result == "error"
    assert "powering-off hung in step stop for 1000" in event.details
    assert "(allowed: 900 s)" in event.details


def test_second_run_changes_nothing() -> None:
    who = world.cloud()
    retried, reverted = world.active(who.member, "a"), world.active(who.member, "b")
    stuck(retried, task_state="powering-off")
    stuck(reverted, task_state="image_uploading")
    assert overdue_tasks_heal() == 2
    before = list(Instance.objects.order_by("pk").values("pk", "generation", "vm_state", "task_state"))
    assert overdue_tasks_heal() == 0
    assert list(Instance.objects.order_by("pk").values("pk", "generation", "vm_state", "task_state")) == before
    assert (Heal.objects.count(), InstanceFault.objects.count()) == (2, 1)


def test_reverted_task_ends_with_a_fault_and_the_stable_state_stays() -> None:
    instance = stuck(world.active(world.cloud().member), task_state="image_uploading")
    assert overdue_tasks_heal() == 1
    assert states(instance) == ("active", "")
    assert world.instance_of(instance.pk).task_since is None
    fault = InstanceFault.objects.get(instance_uuid=instance.pk)
    assert "image_uploading hung" in fault.message
    assert fault.host == "h1"


def test_hung_build_becomes_an_error_on_its_host_with_its_claim() -> None:
    who = world.cloud()
    instance = world.create(who.member)[0]
    world.pump()
    lease = world.order("h1", WorkKind.BUILD).lease
    conductor_connect().record_steps(lease=lease, begins="spawning")
    stuck(instance)
    assert overdue_tasks_heal() == 1
    now = world.instance_of(instance.pk)
    assert (now.vm_state, now.task_state, now.host) == ("error", "", "h1")
    assert instance.pk in allocations_by_consumer()
    fault = InstanceFault.objects.get(instance_uuid=instance.pk)
    assert fault.step == "spawning"
    assert "hung in step spawning" in fault.message
    assert AttemptRecord.objects.get(instance_uuid=instance.pk).outcome == "failed"
    assert InstanceAction.objects.get(instance_uuid=instance.pk).result == "error"


def test_instance_between_hosts_is_scheduled_again_and_becomes_active() -> None:
    who = world.cloud("h1", "h2")
    instance = world.create(who.member)[0]
    world.pump()
    world.fail_build(world.instance_of(instance.pk).host)
    stuck(instance)
    assert overdue_tasks_heal() == 1
    assert open_kinds(instance) == ["reschedule"]
    world.pump()
    world.finish_builds()
    assert states(instance) == ("active", "")


def test_lost_deletion_is_told_to_the_host_again_and_ends() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_delete(caller=who.member, instance_id=instance.pk)
    stuck(instance)
    assert overdue_tasks_heal() == 1
    assert open_kinds(instance) == ["delete"]
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert world.instance_of(instance.pk).deleted_at
    assert instance.pk not in allocations_by_consumer()


def test_deletion_without_a_host_is_finished_at_once() -> None:
    instance = stuck(world.active(world.cloud().member), task_state="deleting", host="")
    assert overdue_tasks_heal() == 1
    assert world.instance_of(instance.pk).deleted_at
    assert instance.pk not in allocations_by_consumer()


def test_heal_is_written_with_the_numbers() -> None:
    instance = stuck(world.active(world.cloud().member), task_state="resize_migrating")
    overdue_tasks_heal()
    heal = Heal.objects.get(subject=instance.pk)
    assert heal.kind == "overdue_task"
    assert "resize_migrating hung" in heal.found
    assert heal.done.startswith("error: ")
    assert heal.evidence["stood_s"] >= LONG_S
    assert heal.evidence["deadline_s"] == 14400
    assert heal.evidence["last_work"]["kind"] == "build"
    assert states(instance) == ("error", "")


def test_task_of_before_tasks_were_timed_counts_from_the_last_change() -> None:
    instance = stuck(world.active(world.cloud().member), task_state="pausing")
    Instance.objects.update(task_since=None, updated_at=now_plus(-LONG_S))
    assert overdue_tasks_heal() == 1
    assert states(instance) == ("active", "")


def test_each_task_is_timed_from_its_own_beginning() -> None:
    who = world.cloud()
    instance = world.create(who.member)[0]
    world.pump()
    Instance.objects.update(task_since=now_plus(-LONG_S))
    old = world.instance_of(instance.pk).task_since
    conductor_connect().record_steps(lease=world.order("h1", WorkKind.BUILD).lease, begins="networking")
    since = world.instance_of(instance.pk).task_since
    assert old
    assert since
    assert since - old > timedelta(seconds=LONG_S / 2)


def test_dispatched_instance_knows_since_when_its_task_stands() -> None:
    world.create(world.cloud().member)
    world.pump()
    assert Instance.objects.get().task_since


def test_agent_that_starts_ends_the_lost_tasks_of_its_host_alone_however_young() -> None:
    who = world.cloud("h1", "h2")
    ours, theirs = world.active(who.member, "a"), world.active(who.member, "b")
    Instance.objects.filter(pk=ours.pk).update(host="h1")
    Instance.objects.filter(pk=theirs.pk).update(host="h2")
    for instance in (ours, theirs):
        stuck(instance, age_s=1.0, task_state="migrating")
    assert lost_tasks_heal(host="h1") == 1
    assert (states(ours), states(theirs)) == (("active", ""), ("active", "migrating"))
    assert Heal.objects.get().kind == "lost_task"


def test_agent_that_starts_leaves_open_work_to_be_taken_again() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="reboot")
    assert lost_tasks_heal(host="h1") == 0
    assert open_kinds(instance) == ["reboot"]


def test_work_that_passed_its_deadline_is_a_heal_with_its_numbers() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    Work.objects.filter(kind="stop").update(deadline_at=now_plus(-5))
    assert reconcile_once()[1] == 1
    heal = Heal.objects.get(subject=instance.pk)
    assert heal.kind == "overdue_work"
    assert heal.evidence["kind"] == "stop"
    assert heal.evidence["past_deadline_s"] >= 5
    assert states(instance) == ("active", "")


@pytest.mark.parametrize(("kind", "step"), [("stop", "powering-off"), ("delete", "deleting")])
def test_fault_of_late_work_names_the_step_that_hangs_and_for_how_long(kind: str, step: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    if kind == "delete":
        instance_delete(caller=who.member, instance_id=instance.pk)
    else:
        instance_act(caller=who.member, instance_id=instance.pk, action=kind)
    action = InstanceAction.objects.get(instance_uuid=instance.pk, action=kind)
    InstanceActionEvent.objects.create(action=action, name=step, started_at=now_plus(-70))
    Work.objects.filter(kind=kind).update(deadline_at=now_plus(-5))
    assert reconcile_once()[1] == 1
    assert f"; step {step} has not ended in 70 s." in InstanceFault.objects.get().message


def test_freed_orphan_claim_is_a_heal_with_what_it_held() -> None:
    instance = world.active(world.cloud().member)
    Instance.objects.all().delete()
    Consumer.objects.update(created_at=now_plus(-120))
    assert orphan_claims_free() == 1
    assert orphan_claims_free() == 0
    heal = Heal.objects.get()
    assert (heal.kind, heal.subject) == ("orphan_claims", instance.pk)
    assert heal.evidence["held"] == {"VCPU of h1": 1, "MEMORY_MB of h1": 512, "DISK_GB of h1": 1}


@pytest.mark.parametrize("table", ["servers_buildrequest", "placement_allocation"])
def test_claim_of_an_instance_that_is_scheduled_again_during_the_sweep_is_kept(table: str) -> None:
    """Right after the sweep read `table` first, the instance is a build request again and has a fresh claim."""
    who = world.cloud()
    made, other = world.active(who.member), world.create(who.member, "other")[0]
    Consumer.objects.update(created_at=now_plus(-120))
    if table == "placement_allocation":  # which is read after the owners
        Instance.objects.filter(pk=made.pk).delete()
    happened = []

    def schedule_again(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if f'FROM "{table}"' in sql and not happened:
            happened.append(sql)
            Instance.objects.filter(pk=made.pk).delete()
            BuildRequest.objects.filter(instance_uuid=other.pk).update(instance_uuid=made.pk)
            Consumer.objects.filter(uuid=made.pk).update(generation=F("generation") + 1)
        return answer

    with connection.execute_wrapper(schedule_again):
        assert orphan_claims_free() == 0
    assert happened
    assert allocations_by_consumer([made.pk])


def test_task_begun_after_the_look_is_left_alone() -> None:
    instance = stuck(world.active(world.cloud().member), task_state="pausing")
    seen = instances_with_overdue_task()
    assert seen == [(instance.pk, instance.generation)]
    state_set(instance.pk, task_state="pausing")
    assert not task_heal(instance.pk, instance.generation, is_restart=False)
    assert states(instance) == ("active", "pausing")


def test_reconciler_looks_for_overdue_tasks_by_itself() -> None:
    assert PERIODIC_TASKS["overdue tasks"].run is overdue_tasks_heal
    assert PERIODIC_TASKS["old heals"].run is heals_prune
