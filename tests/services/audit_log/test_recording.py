"""Who changed what: entries of services, through every door, with what was before and after, and no secret."""

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import transaction
from django.test import Client

from controlplane.audit_log.models import AuditLogEntry, AuditResult
from controlplane.audit_log.recording.actor_scope import COMMAND, Actor, ActorScope, actor_scope
from controlplane.audit_log.recording.commands import run_as_command
from controlplane.identity.models import User
from controlplane.notifications.webhooks import webhook_create
from scheduling.fleet.services.service_states import service_disable
from servers.agent_api.credentials import enrolment_create, enrolment_redeem
from servers.catalog.services.flavor import flavor_update
from servers.models import Flavor, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
SHELL = Actor("ops@desk")


def shell() -> ActorScope:
    return ActorScope(COMMAND, find_actor=lambda: SHELL)


def last(**which: str) -> AuditLogEntry:
    return AuditLogEntry.objects.filter(**which).latest("id")


def test_an_edit_by_the_api_names_person_target_and_what_changed() -> None:
    people = world.people()
    flavor = world.flavor()
    answer = world.client_of(people.admin).patch(f"/api/flavors/{flavor.pk}/", {"memory_mib": 1024})
    assert answer.status_code == 200
    entry = last(action="flavor.update")
    assert (entry.user_name, entry.user_id, entry.door) == ("root", people.admin.user_id, "api")
    assert (entry.target_kind, entry.target_id, entry.target_name) == ("flavor", str(flavor.pk), "m1.tiny")
    assert (entry.before, entry.after) == ({"memory_mib": 512}, {"memory_mib": 1024})
    assert entry.request_id == answer["X-OpenStack-Request-Id"]
    assert entry.address == "127.0.0.1"
    assert entry.result == AuditResult.DONE


def test_an_entry_goes_with_the_transaction_of_its_change() -> None:
    flavor = world.flavor()
    with actor_scope(shell()), pytest.raises(RuntimeError), transaction.atomic():
        flavor_update(flavor_id=flavor.pk, changes={"vcpus": 7})
        assert AuditLogEntry.objects.filter(action="flavor.update").exists()
        raise RuntimeError
    assert not AuditLogEntry.objects.exists()
    assert Flavor.objects.get(pk=flavor.pk).vcpus == 1


def test_what_nobody_asked_for_has_no_entry() -> None:
    world.cloud("h1")
    service_disable(host="h1", reason="by itself")
    assert not AuditLogEntry.objects.exists()


def test_what_is_refused_is_recorded_after_the_refusal_was_undone() -> None:
    people = world.cloud("h1")
    [instance] = world.create(people.member)
    world.pump()
    client = world.client_of(people.member)
    answer = client.post(f"/api/instances/{instance.pk}/actions/", {"action": "unpause"})
    assert answer.status_code == 409
    entry = last(action="instance.unpause")
    assert entry.result == AuditResult.REFUSED
    assert entry.reason == answer.json()["error"]["message"]
    assert (entry.target_name, entry.project_id) == ("vm", people.member.project_id)


def test_a_role_that_is_missing_is_recorded_with_the_path() -> None:
    people = world.people()
    assert world.client_of(people.reader).post("/api/flavors/", {"name": "x"}).status_code == 403
    entry = last(result=AuditResult.REFUSED)
    assert (entry.action, entry.target_name or entry.target_id, entry.user_name) == (
        "request.post",
        "/api/flavors/",
        "rita",
    )


def test_bad_input_and_reading_leave_nothing() -> None:
    people = world.people()
    client = world.client_of(people.admin)
    count = AuditLogEntry.objects.count()
    assert client.post("/api/flavors/", {"name": ""}).status_code == 400
    assert client.get("/api/flavors/").status_code == 200
    assert AuditLogEntry.objects.count() == count


def test_each_instance_of_a_batch_has_an_entry_and_so_has_what_is_done_to_it() -> None:
    people = world.cloud("h1")
    client = world.client_of(people.member)
    body = {"name": "vm", "flavor": "m1.tiny", "image": "demo", "min_count": 2, "max_count": 2}
    assert client.post("/api/instances/", body).status_code == 202
    created = AuditLogEntry.objects.filter(action="instance.create")
    assert {entry.target_name for entry in created} == {"vm-1", "vm-2"}
    assert {entry.project_id for entry in created} == {people.member.project_id}
    world.pump()
    one = Instance.objects.first()
    assert one is not None
    assert client.post(f"/api/instances/{one.pk}/actions/", {"action": "lock", "reason": "mine"}).status_code == 202
    entry = last(action="instance.lock")
    assert entry.after["locked"] is True
    assert entry.before["locked"] is False


def test_no_secret_is_in_the_log() -> None:
    with actor_scope(shell()):
        webhook_create(name="ops", url="https://hooks.test/x?sig=abc", events=["*"], secret="s3cret-s3cret-s3cret")
        enrolment = enrolment_create(host="h9")
    enrolment_redeem(host="h9", token=enrolment.token, secret_digest="a" * 64)
    people = world.people()
    client = world.client_of(people.admin)
    client.patch(f"/api/users/{people.member.user_id}/", {"password": "another long word"})
    text = str(list(AuditLogEntry.objects.values()))
    for secret in ("sig=abc", "s3cret", enrolment.token, "a" * 64, "another long word", "pbkdf2", "argon2"):
        assert secret not in text
    assert last(action="webhook.create").after["url"] == "https://hooks.test/x"


def test_enrolment_names_who_made_the_token_and_which_agent_used_it() -> None:
    people = world.people()
    answer = world.client_of(people.admin).post("/api/hosts/enrolments/", {"host": "h9"})
    assert answer.status_code == 201
    made = last(action="host.enrolment_create")
    assert (made.user_name, made.target_id) == ("root", "h9")
    enrolment_redeem(host="h9", token=answer.json()["token"], secret_digest="a" * 64)
    used = last(action="host.enrol")
    assert (used.user_name, used.door, used.target_name) == ("agent of h9", "agent", "h9")


def test_a_command_is_recorded_under_the_login_on_the_server() -> None:
    world.cloud("h1")
    run_as_command("host_force_down", lambda: call_command("host_force_down", "--host", "h1"))
    entry = last(action="host.force_down")
    assert entry.door == "command"
    assert "@" in entry.user_name
    assert entry.after == {"forced_down": True}


def test_parts_of_the_installation_are_no_commands_of_a_person() -> None:
    world.cloud("h1")
    run_as_command("conductor", lambda: service_disable(host="h1"))
    assert not AuditLogEntry.objects.exists()


def test_the_django_admin_is_recorded_where_it_saves_by_itself() -> None:
    chief = User.objects.create_superuser("chief", password=world.PASSWORD)
    client = Client()
    client.force_login(chief)
    assert client.post("/admin/auth/group/add/", {"name": "operators"}).status_code == 302
    entry = last(action="group.create")
    assert (entry.user_name, entry.door, entry.after) == ("chief", "admin", {"name": "operators"})
    group = Group.objects.get()
    client.post(f"/admin/auth/group/{group.pk}/change/", {"name": "ops"})
    entry = last(action="group.update")
    assert (entry.before, entry.after) == ({"name": "operators"}, {"name": "ops"})


def test_log_ins_and_tokens_are_recorded() -> None:
    people = world.people()
    Client().post("/login/", {"username": "mary", "password": world.PASSWORD})
    assert last(action="session.begin").user_id == people.member.user_id
    Client().post("/api/tokens/", {"username": "mary", "password": world.PASSWORD}, content_type="application/json")
    entry = last(action="token.issue")
    assert (entry.user_id, entry.project_id) == (people.member.user_id, people.member.project_id)
