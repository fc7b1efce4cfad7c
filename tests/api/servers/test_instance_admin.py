"""Instances in the Django admin: actions go through the services, states are never edited."""

from typing import Any

import pytest
from django.test import Client

from controlplane.identity.models import User
from servers.models import BuildRequest, BulkJobItem, ConsoleLog, Flavor, Instance, InstanceAction
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask, confirm

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/servers/instance/"


@pytest.fixture
def client() -> Client:
    world.cloud()
    User.objects.create_superuser(username="boss", password=world.PASSWORD)
    found = Client()
    assert found.login(username="boss", password=world.PASSWORD)
    return found


def act(client: Client, action: str, *instances: Instance) -> str:
    answer = ask(client, LIST, action, [str(one.pk) for one in instances])
    answer = confirm(client, LIST, answer) if answer.status_code == 200 else client.get(answer["Location"])
    assert answer.status_code == 200
    return answer.content.decode()


def owner() -> object:
    from controlplane.identity.selectors import caller_for_user

    return caller_for_user(user=User.objects.get(username="mary"))


def test_stop_goes_through_the_service(client: Client) -> None:
    instance = world.active(owner())  # type: ignore[arg-type]
    assert "1 accepted" in act(client, "stop", instance)
    world.pump()
    assert world.instance_of(instance.pk).task_state == "powering-off"


def test_refusal_is_told_with_the_name(client: Client) -> None:
    instance = world.active(owner())  # type: ignore[arg-type]
    act(client, "start", instance)
    world.pump()
    item = BulkJobItem.objects.get()
    assert (item.name, item.state) == ("vm", "failed")
    assert "The instance is active" in item.reason


def test_those_without_a_host_are_scheduled_again_and_crashes_are_marked_as_seen(client: Client) -> None:
    world.flavor("huge", vcpus=8)
    failed = world.create(owner(), flavor="huge")[0]  # type: ignore[arg-type]
    gone = world.active(owner())  # type: ignore[arg-type]
    world.pump()
    Instance.objects.filter(pk=gone.pk).update(vm_state="stopped", power_state="crashed")
    assert "1 accepted" in act(client, "schedule_again", world.instance_of(failed.pk))
    assert "1 accepted" in act(client, "crash_seen", gone)
    world.pump()
    assert world.instance_of(gone.pk).crash_is_seen
    asked = InstanceAction.objects.filter(action="schedule_again").get()
    assert asked.instance_uuid == failed.pk
    assert asked.message.startswith("Asked for again by boss")


def test_delete_begins_the_deletion_and_keeps_the_row(client: Client) -> None:
    instance = world.active(owner())  # type: ignore[arg-type]
    assert "1 accepted" in act(client, "delete_instances", instance)
    world.pump()
    assert world.instance_of(instance.pk).task_state == "deleting"


def test_state_cannot_be_edited(client: Client) -> None:
    instance = world.active(owner())  # type: ignore[arg-type]
    client.post(f"{LIST}{instance.pk}/change/", {"vm_state": "error"})
    assert world.instance_of(instance.pk).vm_state == "active"


def test_staff_without_a_role_is_refused(client: Client) -> None:
    instance = world.active(owner())  # type: ignore[arg-type]
    from django.contrib.auth.models import Permission

    staff = User.objects.create_user(username="temp", password=world.PASSWORD, is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label="servers"))
    other = Client()
    assert other.login(username="temp", password=world.PASSWORD)
    act(other, "stop", instance)
    assert world.instance_of(instance.pk).task_state == ""


def test_delete_asks_first_with_names_and_number(client: Client) -> None:
    instances = [world.active(owner(), name=name) for name in ("web-1", "web-2")]  # type: ignore[arg-type]
    asked = ask(client, LIST, "delete_instances", [str(one.pk) for one in instances])
    page = asked.content.decode()
    assert "web-1" in page
    assert "web-2" in page
    assert "2 instances" in page
    assert {world.instance_of(one.pk).task_state for one in instances} == {""}
    confirm(client, LIST, asked)
    world.pump()
    assert {world.instance_of(one.pk).task_state for one in instances} == {"deleting"}


@pytest.mark.parametrize(("typed", "state"), [("", "error"), ("12", "error"), ("delete", "deleted")])
def test_deleting_many_needs_the_word_typed(client: Client, typed: str, state: str) -> None:
    instances = many(12)
    asked = ask(client, LIST, "delete_instances", [str(one.pk) for one in instances])
    confirm(client, LIST, asked, typed=typed)
    world.pump()
    assert {row.vm_state for row in Instance.objects.all()} == {state}


def test_rows_that_came_meanwhile_are_asked_about_again(client: Client) -> None:
    many(1)
    asked = ask(client, LIST, "delete_instances", [str(Instance.objects.get().pk)], select_across="1")
    many(1)
    page = confirm(client, LIST, asked).content.decode()
    assert "The chosen rows changed meanwhile" in page
    assert {row.vm_state for row in Instance.objects.all()} == {"error"}


def test_django_deletion_of_many_rows_needs_the_word_typed(client: Client) -> None:
    flavors = [world.flavor(f"f{number}") for number in range(11)]
    url = "/admin/servers/flavor/"
    asked = ask(client, url, "delete_selected", [str(one.pk) for one in flavors])
    confirm(client, url, asked, typed="11")
    assert Flavor.objects.filter(name__startswith="f").count() == 11
    confirm(client, url, asked, typed="Delete")
    assert not Flavor.objects.filter(name__startswith="f").exists()


def many(count: int) -> list[Instance]:
    """Failed instances without a host, cheaper than built ones."""
    caller: Any = owner()
    rows = [
        Instance(
            name=f"vm-{number}",
            project_id=caller.project_id,
            user_id=caller.user_id,
            flavor={},
            vcpus=1,
            memory_mib=1,
            vm_state="error",
        )
        for number in range(count)
    ]
    return Instance.objects.bulk_create(rows)


def test_what_only_its_owner_may_read_stands_on_no_page_of_the_admin(client: Client) -> None:
    user_data = "cGFzc3dvcmQ6IHNlY3JldA=="
    instance = world.active(owner(), user_data=user_data)  # type: ignore[arg-type]
    world.create(owner(), "waits", user_data=user_data)  # type: ignore[arg-type]
    request = BuildRequest.objects.get()
    ConsoleLog.objects.create(instance_uuid=instance.pk, output="login: root password: hunter2")
    pages = {
        row: client.get(f"/admin/servers/{row._meta.model_name}/{row.pk}/change/").text
        for row in (instance, request, ConsoleLog.objects.get())
    }
    assert "waits" in pages[request]
    assert "m1.tiny" in pages[request]
    for row, page in pages.items():
        assert user_data not in page, row
        assert "hunter2" not in page, row
