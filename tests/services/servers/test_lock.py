"""Locked instances: who is refused what, by whom and why; who may unlock; what is told of it."""

from typing import Any

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields, NotFound
from controlplane.notifications.models import Notification
from controlplane.work.models import Work
from servers.agent_api import conductor_connect
from servers.instances.selectors.instances import instance_get
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import Instance, InstanceAction
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = (False, "", "", "")


def lock(caller: Caller, instance: Instance, reason: str = "month-end") -> Instance:
    return instance_act(caller=caller, instance_id=instance.pk, action="lock", arguments={"reason": reason})


def unlock(caller: Caller, instance: Instance) -> Instance:
    return instance_act(caller=caller, instance_id=instance.pk, action="unlock")


def lock_of(instance: Instance) -> tuple[bool, str, str, str]:
    row = world.instance_of(instance.pk)
    return row.locked, row.locked_as, row.locked_by, row.locked_reason


def elsewhere(who: world.People) -> Caller:
    """An administrator who acts in another project."""
    return Caller(who.admin.user_id, "root", who.stranger.project_id, "other", who.admin.roles)


def ask(caller: Caller, instance: Instance, action: str) -> None:
    if action == "delete":
        instance_delete(caller=caller, instance_id=instance.pk)
    else:
        instance_act(caller=caller, instance_id=instance.pk, action=action)


def test_lock_says_who_and_why_and_unlock_forgets_both() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    assert lock_of(instance) == OPEN
    lock(who.member, instance)
    assert lock_of(instance) == (True, "owner", "mary", "month-end")
    unlock(who.member, instance)
    assert lock_of(instance) == OPEN
    assert world.instance_of(instance.pk).vm_state == "active"


@pytest.mark.parametrize("action", ["start", "stop", "reboot", "delete"])
def test_locked_instance_refuses_every_action_of_its_project_and_says_who_locked_it_and_why(action: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    if action == "start":
        Instance.objects.filter(pk=instance.pk).update(vm_state="stopped")
    colleague = Caller(who.admin.user_id, "cora", who.member.project_id, "demo", who.member.roles)
    lock(colleague, instance)
    works = Work.objects.count()
    for caller in (who.member, colleague):
        with pytest.raises(Conflict) as refused:
            ask(caller, instance, action)
        assert refused.value.message == "The instance is locked by cora (month-end); unlock it first."
    assert Work.objects.count() == works
    assert world.instance_of(instance.pk).task_state == ""


@pytest.mark.parametrize("action", ["start", "stop", "reboot", "delete"])
def test_administrator_overrides_a_lock(action: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    if action == "start":
        Instance.objects.filter(pk=instance.pk).update(vm_state="stopped")
    lock(who.member, instance)
    ask(who.admin, instance, action)
    assert world.instance_of(instance.pk).task_state != ""
    assert world.instance_of(instance.pk).locked


@pytest.mark.parametrize("action", ["lock", "unlock"])
def test_reader_is_forbidden_and_a_stranger_finds_nothing(action: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(Forbidden, match=f"instances:{action} needs the role member"):
        instance_act(caller=who.reader, instance_id=instance.pk, action=action)
    with pytest.raises(NotFound):
        instance_act(caller=who.stranger, instance_id=instance.pk, action=action)
    assert lock_of(instance) == OPEN
    assert not InstanceAction.objects.filter(action=action).exists()


def test_lock_of_an_administrator_from_elsewhere_cannot_be_undone_by_the_project() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    lock(elsewhere(who), instance, reason="under investigation")
    assert lock_of(instance) == (True, "admin", "root", "under investigation")
    words = r"locked by root \(under investigation\); only an administrator can unlock it\."
    for action in ("stop", "unlock", "delete"):
        with pytest.raises(Conflict, match=words):
            ask(who.member, instance, action)
    lock(who.member, instance, reason="mine")
    assert lock_of(instance) == (True, "admin", "root", "under investigation")
    unlock(who.admin, instance)
    assert lock_of(instance) == OPEN


def test_administrator_from_elsewhere_takes_a_lock_over_and_its_project_does_not_lock_twice() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    lock(who.member, instance)
    lock(who.member, instance, reason="another")
    assert lock_of(instance) == (True, "owner", "mary", "month-end")
    assert InstanceAction.objects.filter(action="lock").count() == 1
    lock(elsewhere(who), instance, reason="audit")
    assert lock_of(instance) == (True, "admin", "root", "audit")


def test_unlocking_what_is_not_locked_changes_nothing() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    unlock(who.member, instance)
    assert world.instance_of(instance.pk).generation == instance.generation
    assert not InstanceAction.objects.filter(action="unlock").exists()


def test_lock_in_the_midst_of_another_action_lets_that_end() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    lock(who.member, instance)
    conductor_connect().action_done(lease=world.order("h1", WorkKind.STOP).lease, facts=world.OFF)
    assert world.instance_of(instance.pk).vm_state == "stopped"
    rows = InstanceAction.objects.filter(instance_uuid=instance.pk, action__in=["stop", "lock"])
    assert set(rows.values_list("action", "result")) == {("stop", "success"), ("lock", "success")}


def test_instance_in_cell0_keeps_its_lock_when_an_administrator_schedules_it_again() -> None:
    who = world.cloud("h1", memory_mib=256)
    instance = world.create(who.member)[0]
    world.pump()
    assert world.instance_of(instance.pk).vm_state == "error"
    lock(who.member, instance)
    with pytest.raises(Conflict, match=r"locked by mary"):
        instance_schedule_again(instance_id=instance.pk, caller=who.member)
    instance_schedule_again(instance_id=instance.pk, caller=who.admin)
    pending = instance_get(caller=who.member, instance_id=instance.pk)
    assert (pending.is_pending, pending.locked, pending.locked_by) == (True, True, "mary")
    with pytest.raises(Conflict, match=r"locked by mary"):
        instance_delete(caller=who.member, instance_id=instance.pk)
    with pytest.raises(Conflict, match=r"no row to change yet"):
        unlock(who.member, instance)
    world.pump()
    assert lock_of(instance) == (True, "owner", "mary", "month-end")


@pytest.mark.parametrize(
    ("action", "arguments", "field"),
    [
        ("lock", {"reason": "x" * 256}, "reason"),
        ("lock", {"because": "x"}, "because"),
        ("unlock", {"reason": "x"}, "reason"),
        ("stop", {"reason": "x"}, "reason"),
    ],
)
def test_arguments_are_those_of_the_action(action: str, arguments: dict[str, str], field: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(InvalidFields) as refused:
        instance_act(caller=who.member, instance_id=instance.pk, action=action, arguments=arguments)
    assert set(refused.value.errors) == {field}
    assert lock_of(instance) == OPEN


def test_lock_and_unlock_are_in_the_journal_and_tell_one_event_each(notifying: Any) -> None:
    notifying(EVENTS=("instance.*",))
    who = world.cloud()
    instance = world.active(who.member)
    Notification.objects.all().delete()
    lock(who.member, instance)
    unlock(who.admin, instance)
    told = {row.event_type: row for row in Notification.objects.all()}
    assert set(told) == {"instance.lock", "instance.unlock"}
    facts = {name: row.payload["nova_object.data"] for name, row in told.items()}
    locked, unlocked = facts["instance.lock"], facts["instance.unlock"]
    assert (locked["locked"], locked["locked_reason"]) == (True, "month-end")
    assert (unlocked["locked"], unlocked["locked_reason"]) == (False, None)
    assert locked["action_initiator_user"] == str(who.member.user_id)
    assert unlocked["action_initiator_user"] == str(who.admin.user_id)
    assert told["instance.lock"].publisher_id.startswith("nova-api:")
    rows = InstanceAction.objects.filter(action__in=["lock", "unlock"]).order_by("id")
    assert list(rows.values_list("action", "user_id", "result", "message")) == [
        ("lock", who.member.user_id, "success", "month-end"),
        ("unlock", who.admin.user_id, "success", ""),
    ]
