"""A crash dump is no task, as in Nova: other things begin while it is under way, and it ends all the same."""

import pytest

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict
from servers.agent_api import conductor_connect
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import InstanceAction, InstanceFault
from servers.states import VmState
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "trigger_crash_dump"


def test_it_ends_while_the_instance_is_busy_with_something_else() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action=NAME)
    order = world.order("h1", WorkKind.TRIGGER_CRASH_DUMP)
    instance_act(caller=who.member, instance_id=instance.pk, action="pause")
    conductor_connect().action_done(lease=order.lease, facts=GuestFacts(power_state=PowerState.RUNNING))
    instance.refresh_from_db()
    assert (instance.vm_state, instance.task_state) == (VmState.ACTIVE, "pausing")
    assert InstanceAction.objects.get(instance_uuid=instance.pk, action=NAME).result == "success"


def test_it_fails_with_a_fault_and_leaves_what_else_is_done() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action=NAME)
    order = world.order("h1", WorkKind.TRIGGER_CRASH_DUMP)
    instance_act(caller=who.member, instance_id=instance.pk, action="pause")
    conductor_connect().action_failed(lease=order.lease, step="interrupting", message="the guest is off")
    instance.refresh_from_db()
    assert (instance.vm_state, instance.task_state) == (VmState.ACTIVE, "pausing")
    assert InstanceAction.objects.get(instance_uuid=instance.pk, action=NAME).result == "error"
    assert InstanceFault.objects.get(instance_uuid=instance.pk).step == "interrupting"


def test_it_is_not_asked_for_twice_at_a_time() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action=NAME)
    with pytest.raises(Conflict, match="already under way"):
        instance_act(caller=who.member, instance_id=instance.pk, action=NAME)
    assert InstanceAction.objects.filter(instance_uuid=instance.pk, action=NAME).count() == 1


def test_a_locked_instance_refuses_it_and_a_deletion_ends_it() -> None:
    who = world.cloud()
    locked, deleted = world.active(who.member), world.active(who.member)
    instance_act(caller=who.member, instance_id=locked.pk, action="lock")
    with pytest.raises(Conflict, match="locked"):
        instance_act(caller=who.member, instance_id=locked.pk, action=NAME)
    instance_act(caller=who.member, instance_id=deleted.pk, action=NAME)
    instance_delete(caller=who.member, instance_id=deleted.pk)
    assert InstanceAction.objects.get(instance_uuid=deleted.pk, action=NAME).result == "cancelled"
