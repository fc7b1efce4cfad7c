"""Locking by the API, by the page and in the Django admin."""

import pytest
from django.test import Client

from controlplane.identity.models import User
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def logged_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=world.PASSWORD)
    return client


def test_lock_with_a_reason_is_shown_and_the_next_action_is_a_409_that_says_it(who: world.People) -> None:
    instance = world.active(who.member)
    client, path = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    answer = client.post(f"{path}actions/", {"action": "lock", "reason": "month-end"}, format="json")
    assert answer.status_code == 202
    shown = client.get(path).json()
    assert (shown["locked"], shown["locked_by"], shown["locked_reason"]) == (True, "mary", "month-end")
    for refused in (client.post(f"{path}actions/", {"action": "stop"}, format="json"), client.delete(path)):
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
        assert refused.json()["error"]["message"] == "The instance is locked by mary (month-end); unlock it first."
    assert client.post(f"{path}actions/", {"action": "unlock"}, format="json").json()["locked"] is False
    assert client.delete(path).status_code == 204


def test_roles_at_the_api(who: world.People) -> None:
    instance = world.active(who.member)
    for action in ("lock", "unlock"):
        codes = [
            world.client_of(caller)
            .post(f"/api/instances/{instance.pk}/actions/", {"action": action}, format="json")
            .status_code
            for caller in (who.admin, who.member, who.reader, who.stranger)
        ]
        assert codes == [202, 202, 403, 404]


def test_argument_of_another_action_is_a_400_at_its_field(who: world.People) -> None:
    instance = world.active(who.member)
    client, path = world.client_of(who.member), f"/api/instances/{instance.pk}/actions/"
    for body in ({"action": "stop", "reason": "x"}, {"action": "lock", "reason": "x" * 256}):
        answer = client.post(path, body, format="json")
        assert answer.status_code == 400
        assert "reason" in answer.json()["error"]["reasons"]


def test_page_has_the_buttons_and_says_who_locked_it_and_why(who: world.People) -> None:
    instance = world.active(who.member)
    client, path = logged_in("mary"), f"/instances/{instance.pk}/"
    assert f'href="{path}act/lock/"' in client.get(path).content.decode()
    assert 'name="reason"' in client.get(f"{path}act/lock/").content.decode()
    page = client.post(f"{path}act/lock/", {"reason": "<month-end>"}, follow=True).content.decode()
    assert "Locked by <b>mary</b>: &lt;month-end&gt;" in page
    assert 'value="unlock"' in page
    assert 'value="stop"' not in page
    assert "act/lock/" not in page
    refused = client.post(f"{path}delete/", follow=True).content.decode()
    assert "locked by mary (&lt;month-end&gt;); unlock it first." in refused
    assert 'value="stop"' in logged_in("root").get(path).content.decode()
    assert 'value="unlock"' not in logged_in("rita").get(path).content.decode()
    assert "lock-notice" not in client.post(f"{path}act/", {"action": "unlock"}, follow=True).content.decode()


def test_admin_locks_and_unlocks_the_chosen(who: world.People) -> None:
    instances = [world.active(who.member, name=name) for name in ("a", "b")]
    User.objects.filter(username="root").update(is_superuser=True, is_staff=True)
    client = logged_in("root")
    for action, locked in (("lock", True), ("unlock", False)):
        ask(client, "/admin/servers/instance/", action, [str(one.pk) for one in instances])
        world.pump()
        assert [world.instance_of(one.pk).locked for one in instances] == [locked, locked]
