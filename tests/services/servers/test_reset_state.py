"""Reset state: who may, what stands in the way, what is left of what was under way."""

from typing import Any

import pytest
from django.test import Client

from controlplane.identity.models import User
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields, NotFound
from controlplane.notifications.models import Notification
from controlplane.work.control import Operator, work_cancel_one
from controlplane.work.models import Work
from servers.instances.services.act import instance_act
from servers.instances.services.journal import action_open
from servers.instances.services.reset_state import instance_reset_state
from servers.models import Instance, InstanceAction, InstanceFault
from servers.states import TaskState, VmState
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask_and_confirm

pytestmark = pytest.mark.django_db(transaction=True)


def placed(who: world.People, vm_state: str, task_state: str = "") -> Instance:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(vm_state=vm_state, task_state=task_state)
    return instance


def states(instance: Instance) -> tuple[str, str]:
    row = world.instance_of(instance.pk)
    return row.vm_state, row.task_state


@pytest.mark.parametrize("state", ["active", "error"])
@pytest.mark.parametrize("before", sorted(set(VmState) - {VmState.DELETED}))
def test_every_state_becomes_active_or_error(before: str, state: str) -> None:
    who = world.cloud()
    instance = placed(who, before)
    instance_reset_state(caller=who.admin, instance_id=instance.pk, state=state)
    assert states(instance) == (state, "")


def test_task_that_nobody_works_on_ends_with_what_stood_open_in_the_journey() -> None:
    who = world.cloud()
    instance = placed(who, "active", TaskState.MIGRATING)
    given = {"instance_id": instance.pk, "project_id": instance.project_id, "work": None}
    action_open(action="live_migrate", user_id=who.member.user_id, **given)  # type: ignore[arg-type]
    instance_reset_state(caller=who.admin, instance_id=instance.pk, state="error", reason="disk lost")
    assert states(instance) == ("error", "")
    rows = InstanceAction.objects.filter(instance_uuid=instance.pk).exclude(action="create").order_by("id")
    assert list(rows.values_list("action", "user_id", "result", "message")) == [
        ("live_migrate", who.member.user_id, "cancelled", "An administrator reset the state to error: disk lost"),
        ("reset_state", who.admin.user_id, "success", "From active, task migrating to error: disk lost"),
    ]
    fault = InstanceFault.objects.get(instance_uuid=instance.pk)
    assert fault.message == "An administrator reset the state to error: disk lost"


def test_open_work_stands_in_the_way_and_is_named_until_it_is_cancelled() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    work = Work.objects.get(kind="stop")
    with pytest.raises(Conflict, match=rf"Its work stop \({work.pk}\) is waiting; cancel it first"):
        instance_reset_state(caller=who.admin, instance_id=instance.pk, state="error")
    assert states(instance) == ("active", "powering-off")
    work_cancel_one(work_id=work.pk, operator=Operator(user_id=who.admin.user_id, name="root"))
    instance_reset_state(caller=who.admin, instance_id=instance.pk, state="error")
    assert states(instance) == ("error", "")


def test_twice_is_once() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    for _ in range(2):
        instance_reset_state(caller=who.admin, instance_id=instance.pk, state="error")
    assert InstanceAction.objects.filter(action="reset_state").count() == 1
    assert InstanceFault.objects.count() == 1


def test_only_administrators_may_also_where_it_is_locked() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="lock")
    for caller in (who.member, who.reader, who.stranger):
        with pytest.raises(Forbidden, match="instances:reset_state needs the role admin"):
            instance_reset_state(caller=caller, instance_id=instance.pk, state="error")
    assert states(instance) == ("active", "")
    instance_reset_state(caller=who.admin, instance_id=instance.pk, state="error")
    assert states(instance) == ("error", "")


@pytest.mark.parametrize(
    ("body", "field"), [({"state": "stopped"}, "state"), ({"state": "error", "reason": "x" * 256}, "reason")]
)
def test_bad_input_names_its_field(body: dict[str, str], field: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(InvalidFields) as refused:
        instance_reset_state(caller=who.admin, instance_id=instance.pk, **body)
    assert set(refused.value.errors) == {field}


def test_instance_on_no_host_is_not_active_and_one_without_a_row_or_deleted_is_nothing() -> None:
    who = world.cloud("h1", memory_mib=256)
    instance, waiting = world.create(who.member)[0], world.create(who.member, "next")[0]
    with pytest.raises(Conflict, match="no row to change yet"):
        instance_reset_state(caller=who.admin, instance_id=waiting.pk, state="error")
    world.pump()
    with pytest.raises(Conflict, match="on no host, so it cannot be active"):
        instance_reset_state(caller=who.admin, instance_id=instance.pk, state="active")
    Instance.objects.filter(pk=instance.pk).update(deleted_at=instance.created_at)
    with pytest.raises(NotFound):
        instance_reset_state(caller=who.admin, instance_id=instance.pk, state="error")


def test_change_of_state_is_told_with_who_asked(notifying: Any) -> None:
    notifying(EVENTS=("instance.*",))
    who = world.cloud()
    instance = world.active(who.member)
    Notification.objects.all().delete()
    instance_reset_state(caller=who.admin, instance_id=instance.pk, state="error")
    told = Notification.objects.get()
    facts = told.payload["nova_object.data"]
    change = facts["state_update"]["nova_object.data"]
    assert (told.event_type, change["old_state"], change["state"]) == ("instance.update", "active", "error")
    assert facts["action_initiator_user"] == str(who.admin.user_id)


def test_api_page_and_django_admin_ask_the_same_service() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    api, url = world.client_of(who.admin), f"/api/instances/{instance.pk}/reset-state/"
    answer = api.post(url, {"state": "error", "reason": "lost"}, format="json")
    assert (answer.status_code, answer.json()["status"]) == (200, "ERROR")
    assert answer.json()["fault"]["message"] == "An administrator reset the state to error: lost"
    assert world.client_of(who.member).post(url, {"state": "error"}, format="json").status_code == 403
    User.objects.filter(username="root").update(is_superuser=True, is_staff=True)
    client, member = Client(), Client()
    client.login(username="root", password=world.PASSWORD)
    member.login(username="mary", password=world.PASSWORD)
    page = f"/instances/{instance.pk}/"
    assert 'href="' + page + 'reset/"' in client.get(page).content.decode()
    assert "reset/" not in member.get(page).content.decode()
    assert member.post(f"{page}reset/", {"state": "active"}).status_code == 403
    client.post(f"{page}reset/", {"state": "active", "reason": "it runs"})
    assert states(instance) == ("active", "")
    said = client.post(f"{page}reset/", {"state": "on"}, follow=True).content.decode()
    assert "on is not one of the available choices" in said
    ask_and_confirm(client, "/admin/servers/instance/", "reset_to_error", [str(instance.pk)])
    assert states(instance) == ("error", "")
