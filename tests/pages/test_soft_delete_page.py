"""What pages and the Django admin say of a deletion that can be undone."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings as django_settings
from django.test import Client, override_settings

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from servers.agent_api import conductor_connect
from servers.models import Instance
from tests.worlds.admin_actions import ask, ask_and_confirm
from tests.worlds.cloud import OFF, People, active, instance_of, order, pump

AsPerson = Callable[[Caller], Client]


@pytest.fixture(autouse=True)
def week() -> Iterator[None]:
    with override_settings(KILONOVA={**django_settings.KILONOVA, "RECLAIM_INSTANCE_INTERVAL_S": 7 * 86400.0}):
        yield


def powered_off() -> None:
    host = Instance.objects.latest("created_at").host
    conductor_connect().action_done(lease=order(host, WorkKind.SOFT_DELETE).lease, facts=OFF)


def test_page_says_for_how_long_and_then_until_when_it_can_be_restored(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    client, url = as_person(people.member), f"/instances/{instance.pk}/"
    assert "can be restored for 7 d" in client.get(f"{url}delete/").text
    client.post(f"{url}delete/")
    powered_off()
    page = client.get(url).text
    assert 'id="restore-notice"' in page
    assert "can be restored until <time" in page
    assert 'value="restore"' in page
    assert 'value="start"' not in page
    listed = client.get("/instances/?status=SOFT_DELETED").text
    assert "SOFT_DELETED" in listed
    assert "can be restored until <time" in listed
    client.post(f"{url}act/", {"action": "restore"})
    assert instance_of(instance.pk).task_state == "restoring"


def test_dialog_deletes_for_good_where_that_is_chosen(people: People, as_person: AsPerson) -> None:
    instance, other = active(people.member), active(people.member, "other")
    client = as_person(people.member)
    client.post(f"/instances/{instance.pk}/delete/", {"force": "1"})
    assert instance_of(instance.pk).task_state == "deleting"
    client.post(f"/instances/{other.pk}/delete/")
    assert instance_of(other.pk).task_state == "soft-deleting"
    powered_off()
    assert "It can be restored no more" in client.get(f"/instances/{other.pk}/delete/").text
    client.post(f"/instances/{other.pk}/delete/")
    assert instance_of(other.pk).task_state == "deleting"
    assert "delete/" not in as_person(people.reader).get(f"/instances/{other.pk}/").text


def test_django_admin_restores_and_deletes_the_chosen(people: People, as_person: AsPerson) -> None:
    User.objects.filter(username="root").update(is_superuser=True, is_staff=True)
    client, url = as_person(people.admin), "/admin/servers/instance/"
    instance = active(people.member)
    ask_and_confirm(client, url, "delete_instances", [str(instance.pk)])
    pump()
    assert instance_of(instance.pk).task_state == "soft-deleting"
    powered_off()
    ask(client, url, "restore", [str(instance.pk)])
    pump()
    assert instance_of(instance.pk).task_state == "restoring"
    ask_and_confirm(client, url, "force_delete_instances", [str(instance.pk)])
    pump()
    assert instance_of(instance.pk).task_state == "deleting"
