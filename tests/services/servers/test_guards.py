"""What may be done to an instance is what the table of guards says, whichever service is asked."""

from uuid import UUID

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict
from controlplane.work.models import Work
from controlplane.work.reconcile import end_overdue
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def never_launched(who: world.People) -> UUID:
    """In ERROR on a host: its build passed its deadline."""
    made = world.create(who.member)[0]
    world.pump()
    world.order("h1", WorkKind.BUILD)
    Work.objects.update(deadline_at=now_plus(-1))
    end_overdue()
    instance = world.instance_of(made.pk)
    assert (instance.vm_state, instance.host, instance.launched_at) == ("error", "h1", None)
    return UUID(str(made.pk))


@pytest.mark.parametrize("action", ["reboot", "stop"])
def test_instance_that_never_ran_is_not_acted_on(action: str) -> None:
    who = world.cloud()
    instance_id = never_launched(who)
    with pytest.raises(Conflict, match=r"never launched") as refused:
        instance_act(caller=who.member, instance_id=instance_id, action=action)
    assert refused.value.extra == {"vm_state": "error", "task_state": None}
    assert not Work.objects.filter(kind=action).exists()


def test_instance_that_never_ran_is_deleted() -> None:
    who = world.cloud()
    instance_id = never_launched(who)
    instance_delete(caller=who.member, instance_id=instance_id)
    assert world.instance_of(instance_id).task_state == "deleting"


def test_refusal_names_the_state_and_what_the_action_needs() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(Conflict, match=r"The instance is active; start needs stopped."):
        instance_act(caller=who.member, instance_id=instance.pk, action="start")
    Instance.objects.update(task_state="pausing")
    with pytest.raises(Conflict, match=r"The instance is busy with pausing; stop needs no task."):
        instance_act(caller=who.member, instance_id=instance.pk, action="stop")


def test_soft_reboot_waits_for_the_task_under_way() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    Instance.objects.update(task_state="pausing")
    with pytest.raises(Conflict, match=r"pausing"):
        instance_act(caller=who.member, instance_id=instance.pk, action="reboot_soft")


def test_instance_that_runs_is_not_scheduled_again() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(Conflict, match=r"The instance is active; schedule again needs error."):
        instance_schedule_again(instance_id=instance.pk, caller=who.member)
