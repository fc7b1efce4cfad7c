"""A hard reboot takes the place of what hangs of a guest's power, and of nothing else."""

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, NotFound
from controlplane.work.models import Work
from servers.agent_api import conductor_connect
from servers.instances.actions.guards import GUARDS
from servers.instances.actions.power import REBOOT
from servers.instances.services.act import instance_act
from servers.instances.services.hard_reboot import SUPERSEDED
from servers.models import Instance, InstanceAction, InstanceActionEvent
from servers.states import TaskState, VmState
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
BEGINS_IN = {"unpause": VmState.PAUSED, "resume": VmState.SUSPENDED}


def test_what_it_takes_the_place_of_is_what_nova_lets_it() -> None:
    assert {rule.name for rule in SUPERSEDED} == {"reboot_soft", "reboot", "pause", "unpause", "suspend", "resume"}
    for rule in SUPERSEDED:
        assert rule.task in GUARDS[REBOOT.guard].task_states


def test_readers_and_strangers_end_nothing_by_it() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="suspend")
    for caller, error in ((who.reader, Forbidden), (who.stranger, NotFound)):
        with pytest.raises(error):
            instance_act(caller=caller, instance_id=instance.pk, action="reboot")
    assert world.instance_of(instance.pk).task_state == "suspending"
    assert Work.objects.get(kind="suspend").state == "waiting"


@pytest.mark.parametrize("taken", [False, True], ids=["waiting", "taken"])
@pytest.mark.parametrize("name", [rule.name for rule in SUPERSEDED])
def test_work_under_way_is_fenced_off_and_the_reboot_ends_active(name: str, *, taken: bool) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(vm_state=BEGINS_IN.get(name, VmState.ACTIVE))
    instance_act(caller=who.member, instance_id=instance.pk, action=name)
    first = Work.objects.get(subject=instance.pk, kind=name)
    conductor = conductor_connect()
    old = world.order("h1") if taken else None
    if old is not None:
        conductor.record_steps(lease=old.lease, begins=world.instance_of(instance.pk).task_state)

    instance_act(caller=who.member, instance_id=instance.pk, action="reboot")

    first.refresh_from_db()
    assert first.state == "cancelled"
    assert world.instance_of(instance.pk).task_state == "rebooting_hard"
    ended = InstanceAction.objects.filter(instance_uuid=instance.pk, action=name).earliest("started_at")
    assert (ended.result, ended.message) == ("cancelled", "A hard reboot took its place.")
    assert not InstanceActionEvent.objects.filter(action=ended, finished_at=None).exists()
    if old is not None:
        with pytest.raises(Fenced):
            conductor.action_done(lease=old.lease, facts=world.OFF)
    conductor.action_done(lease=world.order("h1", WorkKind.REBOOT).lease, facts=world.RUNNING)
    row = world.instance_of(instance.pk)
    assert (row.vm_state, row.task_state, row.power_state) == ("active", "", "running")
    assert InstanceAction.objects.filter(instance_uuid=instance.pk, action="reboot").latest("id").result == "success"


@pytest.mark.parametrize("name", ["stop", "rebuild", "snapshot"])
def test_other_tasks_have_to_end_first(name: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    arguments = {"name": "copy"} if name == "snapshot" else {}
    if name == "rebuild":
        Instance.objects.filter(pk=instance.pk).update(task_state=TaskState.REBUILDING)
    else:
        instance_act(caller=who.member, instance_id=instance.pk, action=name, arguments=arguments)
    with pytest.raises(Conflict, match="reboot hard needs"):
        instance_act(caller=who.member, instance_id=instance.pk, action="reboot")
    assert not Work.objects.filter(kind="reboot").exists()
