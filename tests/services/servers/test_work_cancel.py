"""Cancelled work of each kind: its instance, claims and journey end as if the deadline had passed, and say by whom."""

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict
from controlplane.work.control import Operator, work_cancel_one
from controlplane.work.models import Work
from placement.models import Allocation
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import AttemptRecord, BuildRequest, Instance, InstanceAction, InstanceFault
from servers.repair.services.audit import audit_findings
from tests.worlds.cloud import People, active, cloud, create, fail_build, instance_of, order, pump

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people() -> People:
    return cloud("h1", "h2")


def cancel(people: People, kind: str) -> Work:
    work = Work.objects.get(kind=kind, state__in=["waiting", "running"])
    return work_cancel_one(work_id=work.pk, operator=Operator(people.admin.user_id, people.admin.username))


def fault_of(instance: Instance) -> str:
    return InstanceFault.objects.filter(instance_uuid=instance.pk).latest("created_at").message


def states(instance: Instance) -> tuple[str, str]:
    now = instance_of(instance.pk)
    return now.vm_state, now.task_state


def test_cancelled_scheduling_moves_the_batch_to_cell0_and_leaves_no_claim(people: People) -> None:
    made = create(people.member, "many", min_count=3, max_count=3)
    cancel(people, "schedule_and_build")
    assert {states(one) for one in made} == {("error", "")}
    assert all("cancelled by root" in fault_of(one) for one in made)
    assert (BuildRequest.objects.count(), Allocation.objects.count()) == (0, 0)
    assert audit_findings() == []


def test_cancelled_build_ends_in_error_on_its_host_and_closes_attempt_and_action(people: People) -> None:
    made = create(people.member)[0]
    pump()
    taken = order(instance_of(made.pk).host, WorkKind.BUILD)
    cancel(people, "build")
    assert states(made) == ("error", "")
    assert instance_of(made.pk).host
    assert "build was cancelled by root" in fault_of(made)
    assert "cancelled by root" in AttemptRecord.objects.get(instance_uuid=made.pk, outcome="failed").reason
    assert InstanceAction.objects.get(instance_uuid=made.pk, action="create").result == "error"
    assert Work.objects.get(pk=taken.lease.work_id).attempt == taken.lease.attempt + 1


def test_cancelled_reschedule_gives_back_what_was_claimed(people: People) -> None:
    made = create(people.member)[0]
    pump()
    fail_build(instance_of(made.pk).host)
    cancel(people, "reschedule")
    assert states(made) == ("error", "")
    assert "reschedule was cancelled by root" in fault_of(made)
    assert Allocation.objects.count() == 0


def test_cancelled_deletion_of_what_is_not_being_deleted_any_more_leaves_it_as_it_is(people: People) -> None:
    instance = active(people.member)
    instance_delete(caller=people.member, instance_id=instance.pk)
    Instance.objects.filter(pk=instance.pk).update(task_state="")
    cancel(people, "delete")
    assert states(instance) == ("active", "")


def test_cancelled_stop_leaves_the_instance_active_and_free_to_act_again(people: People) -> None:
    made = active(people.member)
    instance_act(caller=people.member, instance_id=made.pk, action="stop")
    cancel(people, "stop")
    assert states(made) == ("active", "")
    assert "stop was cancelled by root" in fault_of(made)
    assert instance_act(caller=people.member, instance_id=made.pk, action="stop").task_state == "powering-off"


def test_cancelled_delete_ends_in_error_keeps_its_claim_and_can_be_asked_for_again(people: People) -> None:
    made = active(people.member)
    instance_delete(caller=people.member, instance_id=made.pk)
    cancel(people, "delete")
    assert states(made) == ("error", "")
    assert "delete was cancelled by root" in fault_of(made)
    assert Allocation.objects.exists()
    instance_delete(caller=people.member, instance_id=made.pk)
    assert states(made) == ("error", "deleting")


def test_work_that_its_agent_finished_first_is_not_cancelled(people: People) -> None:
    made = active(people.member)
    work = Work.objects.get(kind="build", subject=made.pk)
    with pytest.raises(Conflict, match="It is done"):
        work_cancel_one(work_id=work.pk, operator=Operator(people.admin.user_id, "root"))
    assert states(made) == ("active", "")
