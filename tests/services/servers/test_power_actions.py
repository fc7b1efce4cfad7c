"""Start, stop, reboots, pause, suspend and back: from the request to the end that the host's agent tells."""

import pytest

from computeagent.protocol.guests import GuestFacts
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Forbidden, NotFound
from controlplane.work.models import Work
from servers.agent_api import conductor_connect
from servers.instances.actions.images import SHELVE_OFFLOAD
from servers.instances.actions.power import REBOOT
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import VERBS
from servers.instances.services.act import instance_act
from servers.instances.services.action_beginnings import BEGINNINGS
from servers.models import Instance, InstanceAction
from servers.states import VmState
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

OTHERS = {*BEGINNINGS, SHELVE_OFFLOAD.name} - {REBOOT.name}
"""Actions with more to them, which have tests of their own."""
RULES = [rule for rule in VERBS.values() if rule.work is not None and rule.name not in OTHERS]
STATES = [(rule, state) for rule in RULES if rule.is_task for state in sorted(rule.vm_states)]


ARGUMENTS = {"change_password": {"password": "never to be seen"}}
IMAGE = {"properties": {"hw_qemu_guest_agent": "yes"}}


def placed(who: world.People, state: VmState) -> Instance:
    return brought(world.active(who.member), state)


def brought(instance: Instance, state: VmState) -> Instance:
    Instance.objects.filter(pk=instance.pk).update(vm_state=state, image=instance.image | IMAGE)
    return instance


def ask(caller: Caller, instance: Instance, action: str) -> None:
    instance_act(caller=caller, instance_id=instance.pk, action=action, arguments=ARGUMENTS.get(action, {}))


def test_there_are_all_of_them() -> None:
    names = {rule.name for rule in RULES}
    assert {"start", "stop", "reboot", "reboot_soft", "pause", "unpause", "suspend", "resume"} <= names


@pytest.mark.parametrize(("rule", "state"), STATES, ids=[f"{rule.name}-{state}" for rule, state in STATES])
def test_action_has_its_task_while_it_runs_and_its_state_afterwards(rule: ActionRule, state: VmState) -> None:
    who = world.cloud()
    instance = placed(who, state)
    ask(who.member, instance, rule.name)
    instance.refresh_from_db()
    assert (instance.vm_state, instance.task_state) == (state, rule.task)
    order = world.order("h1", rule.work)
    assert order.power_state_wanted == rule.power_state_end(state)
    facts = GuestFacts(power_state=rule.power_state_end(state))
    conductor_connect().action_done(lease=order.lease, facts=facts)
    instance.refresh_from_db()
    assert (instance.vm_state, instance.task_state) == (rule.vm_state_end(state), "")
    assert instance.power_state == rule.power_state_end(state)
    assert InstanceAction.objects.get(instance_uuid=instance.pk, action=rule.name).result == "success"


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_action_is_refused_in_all_other_states_and_leaves_nothing(rule: ActionRule) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    for state in sorted(set(VmState) - rule.vm_states - {VmState.DELETED}):
        brought(instance, state)
        with pytest.raises(Conflict, match=rf"The instance is {state}"):
            ask(who.member, instance, rule.name)
    assert not Work.objects.filter(kind=rule.work).exists()


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_readers_and_strangers_may_not(rule: ActionRule) -> None:
    who = world.cloud()
    instance = placed(who, min(rule.vm_states))
    with pytest.raises(Forbidden):
        ask(who.reader, instance, rule.name)
    with pytest.raises(NotFound):
        ask(who.stranger, instance, rule.name)
    ask(who.admin, instance, rule.name)
    assert Work.objects.filter(kind=rule.work).count() == 1


@pytest.mark.parametrize("key", ["pci_passthrough:alias", "accel:device_profile", "resources:VGPU", "resources_g:VGPU"])
def test_guest_with_a_device_of_its_host_is_not_suspended_and_the_key_is_said(key: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    Instance.objects.update(flavor=instance.flavor | {"extra_specs": {key: "1", "resources:VCPU": "1"}})
    with pytest.raises(Conflict, match=rf"a device of the host \({key}\), whose state cannot be saved"):
        instance_act(caller=who.member, instance_id=instance.pk, action="suspend")
    assert not Work.objects.filter(kind="suspend").exists()
    assert world.instance_of(instance.pk).task_state == ""


def test_action_that_failed_leaves_the_state_and_may_be_asked_for_again() -> None:
    who = world.cloud()
    instance = placed(who, VmState.ACTIVE)
    for _ in range(2):
        instance_act(caller=who.member, instance_id=instance.pk, action="suspend")
        lease = world.order("h1").lease
        conductor_connect().action_failed(lease=lease, step="suspending", message="no room on the host's disk")
        instance.refresh_from_db()
        assert (instance.vm_state, instance.task_state) == ("active", "")


@pytest.mark.parametrize("action", ["stop", "shelve"])
def test_work_lasts_longer_than_the_time_that_the_image_gives_the_guest(action: str) -> None:
    who = world.cloud()
    instance = placed(who, VmState.ACTIVE)
    Instance.objects.filter(pk=instance.pk).update(image=IMAGE | {"properties": {"os_shutdown_timeout": "3600"}})
    ask(who.member, instance, action)
    work = Work.objects.get(subject=instance.pk, finished_at=None)
    assert (work.deadline_at - work.created_at).total_seconds() >= 3600 + VERBS[action].deadline_s


def test_start_waits_no_longer_because_of_it() -> None:
    who = world.cloud()
    instance = placed(who, VmState.STOPPED)
    image = IMAGE | {"properties": {"os_shutdown_timeout": "3600"}}
    Instance.objects.filter(pk=instance.pk).update(image=image)
    ask(who.member, instance, "start")
    work = Work.objects.get(subject=instance.pk, finished_at=None)
    assert (work.deadline_at - work.created_at).total_seconds() < 3600
