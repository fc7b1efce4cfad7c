"""Rebuild, rescue and a new password by the API, by pages and in the Django admin."""

import pytest
from django.test import Client

from controlplane.identity.models import User
from controlplane.work.models import Work
from servers.models import Image, Instance, KeyPair, WorkSecret
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask_and_confirm

pytestmark = pytest.mark.django_db(transaction=True)
AGENT = {"properties": {"hw_qemu_guest_agent": "yes"}}


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def logged_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=world.PASSWORD)
    return client


def with_agent(who: world.People) -> Instance:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(image=instance.image | AGENT)
    return instance


@pytest.mark.parametrize(("verb", "task"), [("rebuild", "rebuilding"), ("rescue", "rescuing")])
def test_roles_at_the_api(who: world.People, verb: str, task: str) -> None:
    for caller, status in ((who.reader, 403), (who.stranger, 404), (who.member, 202), (who.admin, 202)):
        instance = world.active(who.member)
        answer = world.client_of(caller).post(f"/api/instances/{instance.pk}/{verb}/", {}, format="json")
        assert answer.status_code == status
        assert world.instance_of(instance.pk).task_state == (task if status == 202 else "")


def test_rebuild_answers_with_what_the_instance_is_now(who: world.People) -> None:
    other, instance = world.image("other"), world.active(who.member)
    client, path = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    body = {"image": "other", "name": "fresh", "metadata": {"a": "b"}, "key_name": "", "user_data": ""}
    shown = client.post(f"{path}rebuild/", body, format="json").json()
    assert (shown["status"], shown["task_state"], shown["name"]) == ("REBUILD", "rebuilding", "fresh")
    assert (shown["image"]["id"], shown["metadata"], shown["key_name"]) == (str(other.pk), {"a": "b"}, "")
    again = client.post(f"{path}rebuild/", body, format="json")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("rebuild", {"image": "nowhere"}, "image"),
        ("rebuild", {"preserve_ephemeral": True}, "preserve_ephemeral"),
        ("rebuild", {"metadata": {"a": 1}}, "metadata"),
        ("rebuild", {"flavor": "m1.tiny"}, "flavor"),
        ("rescue", {"image": "nowhere"}, "image"),
        ("rebuild", {"admin_pass": "mine", "generate_admin_pass": True}, "generate_admin_pass"),
        ("rescue", {"admin_pass": "mine", "generate_admin_pass": True}, "generate_admin_pass"),
        ("rescue", {"image": 1.5e308, "x": "y"}, "x"),
    ],
)
def test_bad_bodies_are_a_400_at_their_fields_and_nothing_begins(
    who: world.People, verb: str, body: dict[str, object], field: str
) -> None:
    instance = world.active(who.member)
    answer = world.client_of(who.member).post(f"/api/instances/{instance.pk}/{verb}/", body, format="json")
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert field in (error.get("reasons") or {error["field"]: []})
    assert not Work.objects.filter(kind=verb).exists()


def test_host_that_is_not_for_the_image_is_a_409_with_the_decision(who: world.People) -> None:
    world.image("arm", properties={"hw_architecture": "aarch64"})
    instance = world.active(who.member)
    client = world.client_of(who.member)
    answer = client.post(f"/api/instances/{instance.pk}/rebuild/", {"image": "arm"}, format="json")
    assert answer.status_code == 409
    decision = answer.json()["error"]["decision_id"]
    assert client.get(f"/api/decisions/{decision}/").status_code == 200


def test_password_is_in_no_answer(who: world.People) -> None:
    instance = with_agent(who)
    client, path = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    secret = "nobody reads this"
    answer = client.post(f"{path}actions/", {"action": "change_password", "password": secret}, format="json")
    assert (answer.status_code, answer.json()["status"]) == (202, "PASSWORD")
    assert WorkSecret.objects.count() == 1
    for shown in (answer, client.get(path), client.get(f"{path}journey/")):
        assert secret not in shown.content.decode()
    refused = client.post(f"{path}actions/", {"action": "change_password", "password": "a\nb\x07"}, format="json")
    assert refused.status_code == 400
    assert "a\nb" not in refused.content.decode()
    without = client.post(f"{path}actions/", {"action": "change_password"}, format="json")
    assert "password" in without.json()["error"]["reasons"]


def test_pages_ask_say_what_is_lost_and_do_it(who: world.People) -> None:
    world.image("other")
    KeyPair.objects.create(user_id=who.member.user_id, name="laptop", public_key="ssh-ed25519 AAAA", fingerprint="x")
    instance, page = world.active(who.member), logged_in("mary")
    path = f"/instances/{instance.pk}/"
    assert {"rebuild/", "rescue/"} <= {one.removeprefix(path) for one in _links(page.get(path).content.decode())}

    asked = page.get(f"{path}rebuild/").content.decode()
    assert "All that is on its disks is lost for good, and so is what its TPM and its firmware keep." in asked
    other = Image.objects.get(name="other")
    answer = page.post(
        f"{path}rebuild/", {"image": other.pk, "name": "fresh", "key_name": "laptop", "user_data": "#!/bin/sh\r\nid"}
    )
    assert answer.status_code == 302
    row = world.instance_of(instance.pk)
    assert (row.task_state, row.name, row.key_name) == ("rebuilding", "fresh", "laptop")
    assert row.user_data == "IyEvYmluL3NoCmlk"
    assert "busy with rebuilding" in page.get(f"{path}rescue/").content.decode()


def test_rescue_page_rescues_and_shows_a_refusal_at_its_field(who: world.People) -> None:
    bad = world.image("floppy", properties={"hw_rescue_device": "floppy"})
    instance, page = world.active(who.member), logged_in("mary")
    refused = page.post(f"/instances/{instance.pk}/rescue/", {"image": bad.pk})
    assert refused.status_code == 200
    assert "a rescue disk is one of disk, cdrom" in refused.content.decode()
    assert page.post(f"/instances/{instance.pk}/rescue/", {"image": ""}).status_code == 302
    assert world.instance_of(instance.pk).task_state == "rescuing"


def test_password_page_asks_for_it_and_keeps_its_blanks(who: world.People) -> None:
    instance, page = with_agent(who), logged_in("mary")
    path = f"/instances/{instance.pk}/act/change_password/"
    assert 'type="password"' in page.get(path).content.decode()
    assert page.post(path, {"password": " blank "}).status_code == 302
    assert world.order("h1").arguments == {"password": " blank "}


def test_rescues_are_ended_in_bulk_by_an_admin_who_was_asked(who: world.People) -> None:
    User.objects.filter(username="root").update(is_staff=True, is_superuser=True)
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(vm_state="rescued", rescue_image=instance.image)
    client = logged_in("root")
    ask_and_confirm(client, "/admin/servers/instance/", "unrescue", [str(instance.pk)])
    world.pump()  # a conductor does what is asked for of many
    assert world.instance_of(instance.pk).task_state == "unrescuing"


def _links(html: str) -> set[str]:
    return {part.split('"')[0] for part in html.split('href="')[1:]}
