"""Deletion protection: while it is on, nobody deletes the instance in any way; who sets it, and when."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client, override_settings

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from controlplane.kernel.errors import Conflict, Forbidden, NotFound
from controlplane.notifications.models import Notification
from controlplane.work.models import Work
from servers.agent_api import conductor_connect
from servers.instances.selectors.instances import instance_get
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import BuildRequest, Instance, InstanceAction
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask, ask_and_confirm

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = "The instance is protected from deletion; unprotect it first."


def act(caller: Caller, instance: Instance, action: str) -> Instance:
    return instance_act(caller=caller, instance_id=instance.pk, action=action)


def interval(seconds: float) -> override_settings:
    return override_settings(KILONOVA={**django_settings.KILONOVA, "RECLAIM_INSTANCE_INTERVAL_S": seconds})


@pytest.mark.parametrize("seconds", [0.0, 60.0])
@pytest.mark.parametrize("is_forced", [False, True])
@pytest.mark.parametrize("who_asks", ["member", "admin"])
def test_protected_instance_is_deleted_by_nobody_until_it_is_unprotected(
    seconds: float, is_forced: bool, who_asks: str
) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    caller: Caller = getattr(who, who_asks)
    act(who.member, instance, "protect")
    with interval(seconds):
        with pytest.raises(Conflict) as refused:
            instance_delete(caller=caller, instance_id=instance.pk, is_forced=is_forced)
        assert refused.value.message == WORDS
        assert not Work.objects.filter(kind__in=[WorkKind.DELETE, WorkKind.SOFT_DELETE]).exists()
        assert world.instance_of(instance.pk).task_state == ""
        act(caller, instance, "unprotect")
        instance_delete(caller=caller, instance_id=instance.pk, is_forced=is_forced)
    assert world.instance_of(instance.pk).task_state in {"deleting", "soft-deleting"}


def test_everything_else_can_be_done_to_it() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    act(who.member, instance, "protect")
    act(who.member, instance, "stop")
    conductor_connect().action_done(lease=world.order("h1", WorkKind.STOP).lease, facts=world.OFF)
    row = world.instance_of(instance.pk)
    assert (row.vm_state, row.protected) == ("stopped", True)


@pytest.mark.parametrize("action", ["protect", "unprotect"])
def test_reader_is_forbidden_a_stranger_finds_nothing_and_a_lock_holds(action: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(protected=action == "unprotect")
    with pytest.raises(Forbidden, match="instances:protect needs the role member"):
        act(who.reader, instance, action)
    with pytest.raises(NotFound):
        act(who.stranger, instance, action)
    act(who.member, instance, "lock")
    with pytest.raises(Conflict, match="locked by mary"):
        act(who.member, instance, action)
    assert world.instance_of(instance.pk).protected == (action == "unprotect")
    act(who.admin, instance, action)
    assert world.instance_of(instance.pk).protected == (action == "protect")


@pytest.mark.parametrize(("vm_state", "task_state"), [("soft-delete", ""), ("active", "deleting")])
def test_what_is_deleted_already_is_not_protected_any_more(vm_state: str, task_state: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(vm_state=vm_state, task_state=task_state)
    with pytest.raises(Conflict, match="protect needs"):
        act(who.admin, instance, "protect")
    assert not world.instance_of(instance.pk).protected


def test_protection_outlives_a_new_try_and_holds_while_there_is_no_row() -> None:
    who = world.cloud("h1", memory_mib=256)
    instance = world.create(who.member)[0]
    world.pump()
    act(who.member, instance, "protect")
    with pytest.raises(Conflict, match=WORDS):
        instance_delete(caller=who.member, instance_id=instance.pk)
    instance_schedule_again(instance_id=instance.pk, caller=who.member)
    assert instance_get(caller=who.member, instance_id=instance.pk).protected
    with pytest.raises(Conflict, match=WORDS):
        instance_delete(caller=who.admin, instance_id=instance.pk, is_forced=True)
    assert BuildRequest.objects.filter(instance_uuid=instance.pk).exists()
    world.pump()
    assert world.instance_of(instance.pk).protected


def test_twice_is_once_in_the_journal_and_in_what_is_told(notifying: Any) -> None:
    notifying(EVENTS=("instance.*",))
    who = world.cloud()
    instance = world.active(who.member)
    Notification.objects.all().delete()
    for action in ("protect", "protect", "unprotect", "unprotect"):
        act(who.member, instance, action)
    rows = InstanceAction.objects.exclude(action="create").order_by("id")
    assert list(rows.values_list("action", "result")) == [("protect", "success"), ("unprotect", "success")]
    told = sorted(Notification.objects.values_list("event_type", flat=True))
    assert told == ["instance.protect", "instance.unprotect"]


def test_api_page_and_django_admin(django_user_model: type[User]) -> None:
    who = world.cloud()
    instance, other = world.active(who.member), world.active(who.member, "other")
    api, url = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    assert api.post(f"{url}actions/", {"action": "protect"}, format="json").json()["protected"] is True
    for query in ("", "?force=1"):
        refused = api.delete(url + query)
        assert (refused.status_code, refused.json()["error"]["message"]) == (409, WORDS)
    client, page = Client(), f"/instances/{instance.pk}/"
    client.login(username="mary", password=world.PASSWORD)
    shown = client.get(page).content.decode()
    assert 'id="protect-notice"' in shown
    assert 'value="unprotect"' in shown
    assert 'id="delete"' not in shown
    assert WORDS in client.post(f"{page}delete/", {"force": "1"}, follow=True).content.decode()
    django_user_model.objects.filter(username="root").update(is_superuser=True, is_staff=True)
    boss, both = Client(), [str(instance.pk), str(other.pk)]
    boss.login(username="root", password=world.PASSWORD)
    rows: Callable[[], list[Instance]] = lambda: [world.instance_of(one.pk) for one in (instance, other)]  # noqa: E731
    ask(boss, "/admin/servers/instance/", "protect", both)
    world.pump()
    for action in ("delete_instances", "force_delete_instances"):
        ask_and_confirm(boss, "/admin/servers/instance/", action, both)
        world.pump()
    assert [(row.protected, row.task_state) for row in rows()] == [(True, ""), (True, "")]
    ask(boss, "/admin/servers/instance/", "unprotect", both)
    world.pump()
    ask_and_confirm(boss, "/admin/servers/instance/", "delete_instances", both)
    world.pump()
    assert [row.task_state for row in rows()] == ["deleting", "deleting"]
