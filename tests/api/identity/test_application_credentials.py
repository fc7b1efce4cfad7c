"""Application credentials at the Identity door, at `/api/`, on their page and in the Django admin."""

from datetime import timedelta
from typing import Any

import pytest
import yaml
from django.test import Client
from django.utils import timezone

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import ApplicationCredential, Project, RoleAssignment, Token, User
from controlplane.identity.selectors.token_holder import token_holder
from controlplane.identity.services import role_grant, role_revoke, user_password_set, user_update, users_delete
from controlplane.kernel.errors import Forbidden
from servers.bulk.services.jobs import bulk_job_create
from tests.api.identity.test_identity_door import DEMO, Cloud, log_in
from tests.worlds.cloud import People, client_of, people

pytestmark = pytest.mark.django_db
LONG = "a secret that somebody brings along 1"


@pytest.fixture
def world() -> People:
    return people()


def path(caller: Caller, *more: str) -> str:
    return "/".join(("/v3/users", caller.user_id.hex, "application_credentials", *more))


def make(cloud: Cloud, caller: Caller, **fields: Any) -> Any:
    return cloud.call("POST", path(caller), {"application_credential": {"name": "ci", **fields}})


def enter(scope: Any = None, **key: Any) -> Any:
    identity = {"methods": ["application_credential"], "application_credential": key}
    return Cloud().call(
        "POST", "/v3/auth/tokens", {"auth": {"identity": identity, **({"scope": scope} if scope else {})}}
    )


def made(caller: Caller, **fields: Any) -> Any:
    answer = make(log_in(caller.username), caller, **fields)
    assert answer.status_code == 201, answer.content
    return answer.json()["application_credential"]


def status_of(one: Any) -> int:
    return int(enter(id=one["id"], secret=one["secret"]).status_code)


def test_it_is_made_used_listed_and_deleted_by_its_owner(world: People) -> None:
    mary = log_in("mary")
    one = made(world.member, description="of the pipeline", access_rules=[], roles=[{"name": "reader"}])
    assert one["project_id"] == world.member.project_id.hex
    assert ([role["name"] for role in one["roles"]], one["unrestricted"], one["expires_at"]) == (
        ["reader"],
        False,
        None,
    )
    assert one["secret"] not in str(list(ApplicationCredential.objects.values()))
    assert "secret" not in mary.call("GET", path(world.member, one["id"])).json()["application_credential"]
    assert make(mary, world.member).status_code == 409

    by_name = {"name": "ci", "user": {"name": "mary", "domain": {"id": "default"}}, "secret": one["secret"]}
    for key in ({"id": one["id"], "secret": one["secret"]}, by_name):
        answer = enter(**key)
        assert answer.status_code == 201, answer.content
        token = answer.json()["token"]
        assert token["methods"] == ["application_credential"]
        assert token["application_credential"] == {"id": one["id"], "name": "ci", "restricted": True}
        assert (token["project"]["name"], [role["name"] for role in token["roles"]]) == ("demo", ["reader"])
    held = Cloud(answer["X-Subject-Token"])
    headers = {"X-Auth-Token": held.token}
    assert Client().get("/api/instances/", headers=headers).status_code == 200
    assert Client().post("/api/instances/", "{}", "application/json", headers=headers).status_code == 403  # a reader
    assert held.call("DELETE", path(world.member, one["id"])).status_code == 403  # restricted
    assert make(held, world.member, name="more").status_code == 403

    with pytest.raises(Forbidden, match="starts no bulk jobs"):
        bulk_job_create(caller=token_holder(held.token).caller, action="stop", ids=[])  # type: ignore[union-attr]

    named = mary.call("GET", f"{path(world.member)}?name=ci").json()["application_credentials"]
    assert [found["id"] for found in named] == [one["id"]]
    assert mary.call("GET", f"{path(world.member)}?name=x").json()["application_credentials"] == []
    assert mary.call("DELETE", path(world.member, one["id"])).status_code == 204
    assert held.call("GET", "/v3/auth/projects").status_code == 401
    assert status_of(one) == 401
    actions = AuditLogEntry.objects.filter(user_name="mary").values_list("action", flat=True)
    assert {"application_credential.create", "application_credential.delete", "token.issue"} <= set(actions)


def test_scopes_and_tokens_of_tokens_stay_within_it(world: People) -> None:
    role_grant(user=User.objects.get(username="mary"), project=Project.objects.get(name="other"), role=Role.MEMBER)
    one = made(world.member)
    key = {"id": one["id"], "secret": one["secret"]}
    other = {"project": {"name": "other", "domain": {"id": "default"}}}
    assert enter(DEMO, **key).status_code == 201
    for scope in (other, "unscoped", {"system": {"all": True}}):
        assert enter(scope, **key).status_code == 401
    token = enter(**key)["X-Subject-Token"]
    for scope, status in ((other, 401), ("unscoped", 401), (DEMO, 201)):
        identity = {"methods": ["token"], "token": {"id": token}}
        again = Cloud().call("POST", "/v3/auth/tokens", {"auth": {"identity": identity, "scope": scope}})
        assert again.status_code == status
    assert again.json()["token"]["application_credential"]["restricted"] is True
    assert make(Cloud(again["X-Subject-Token"]), world.member, name="more").status_code == 403


def test_what_ends_it_and_what_does_not(world: People) -> None:
    mary, demo = User.objects.get(username="mary"), Project.objects.get(name="demo")
    one = made(world.member)
    user_password_set(user=mary, password="another long phrase")
    assert status_of(one) == 201  # a new password ends tokens, and no credential
    user_update(user=mary, is_active=False)
    assert status_of(one) == 401
    user_update(user=mary, is_active=True)
    Project.objects.update(enabled=False)
    assert status_of(one) == 401
    Project.objects.update(enabled=True)
    ApplicationCredential.objects.update(expires_at=timezone.now())
    assert status_of(one) == 401
    ApplicationCredential.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    token = enter(id=one["id"], secret=one["secret"])
    assert Token.objects.latest("created_at").expires_at == ApplicationCredential.objects.get().expires_at

    role_grant(user=mary, project=demo, role=Role.READER)
    role_revoke(user=mary, project=demo, role=Role.READER)
    assert status_of(one) == 201  # another role than its own
    role_revoke(user=mary, project=demo, role=Role.MEMBER)
    assert Cloud(token["X-Subject-Token"]).call("GET", "/v3/auth/projects").status_code == 401
    role_grant(user=mary, project=demo, role=Role.MEMBER)
    assert status_of(one) == 401  # it does not come back with the role
    RoleAssignment.objects.create(user=mary, project=demo, role=Role.ADMIN.value)
    assert not ApplicationCredential.objects.exists()

    client_of(world.stranger).post("/api/application-credentials/", {"name": "x"}, format="json")
    users_delete(user_ids=[world.stranger.user_id])
    assert not ApplicationCredential.objects.exists()


def test_what_is_refused_and_why(world: People, settings: Any) -> None:
    mary = log_in("mary")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"roles": [{"id": "admin"}]}, "do not have the role admin"),
        ({"roles": [{"name": "owner"}]}, "no role owner"),
        ({"expires_at": "2020-01-01T00:00:00"}, "past"),
        ({"expires_at": "soon"}, "ISO 8601"),
        ({"secret": "short"}, "32 to 255"),
        ({"access_rules": [{"path": "/v2.1/servers"}]}, "access_rules"),
        ({"project_id": world.stranger.project_id.hex}, "project_id"),
        ({"name": " "}, "name"),
        ({"trust": 1}, "trust"),
    ]
    for fields, words in refused:
        answer = make(mary, world.member, **fields)
        assert (answer.status_code, words in answer.json()["error"]["message"]) == (400, True), answer.content
    assert make(log_in("mary", "unscoped"), world.member).status_code == 403
    limits = {"APPLICATION_CREDENTIALS_PER_USER": 1, "APPLICATION_CREDENTIAL_MAX_DAYS": 1.0}
    settings.KILONOVA = {**settings.KILONOVA, **limits}
    assert "longer than 1 day" in make(mary, world.member, expires_at="2999-01-01T00:00:00Z").text
    assert make(mary, world.member, secret=LONG).json()["application_credential"]["expires_at"] is not None
    assert "delete one first" in make(mary, world.member, name="b").text


def test_others_neither_make_nor_see_them_but_administrators_may_end_them(world: People) -> None:
    one = made(world.member)
    assert make(log_in("root"), world.member, name="for mary").status_code == 403
    for name in ("rita", "stan"):
        other = log_in(name) if name == "rita" else log_in(name, {"project": {"id": world.stranger.project_id.hex}})
        for method in ("GET", "DELETE"):
            assert other.call(method, path(world.member, one["id"])).status_code == 403
        assert other.call("GET", path(world.member)).status_code == 403
        own = path(world.reader if name == "rita" else world.stranger, one["id"])
        assert other.call("GET", own).status_code == 404
        assert other.call("DELETE", own).status_code == 404
    root = log_in("root")
    assert len(root.call("GET", path(world.member)).json()["application_credentials"]) == 1
    assert root.call("DELETE", path(world.member, one["id"])).status_code == 204
    assert status_of(one) == 401


def test_guesses_are_braked(world: People) -> None:
    one = made(world.member)
    for key in (
        {"id": one["id"]},
        {"id": "no-id"},
        {"name": "ci", "user": {"name": "nobody", "domain": {"id": "default"}}},
    ):
        tries = [enter(**key, secret="wrong").status_code for _ in range(8)]
        assert (tries[0], tries[-1]) == (401, 429), key
    assert enter(secret="x").status_code == 400


def as_person(caller: Caller) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=caller.user_id))
    return client


def test_rest_and_page_and_admin(world: People) -> None:
    api = client_of(world.member)
    answer = api.post("/api/application-credentials/", {"name": "a", "roles": ["reader"]}, format="json")
    assert (answer.status_code, len(answer.json()["secret"]) >= 32) == (201, True)
    where = f"/api/application-credentials/{answer.json()['id']}/"
    assert (
        api.post("/api/application-credentials/", {"name": "b", "roles": ["admin"]}, format="json").status_code == 400
    )
    assert [one["name"] for one in api.get("/api/application-credentials/").json()["results"]] == ["a"]
    for other in (world.admin, world.reader, world.stranger):
        assert client_of(other).get(where).status_code == 404
        assert client_of(other).delete(where).status_code == 404
    assert "secret" not in api.get(where).json()
    assert api.delete(where).status_code == 204

    page, there = as_person(world.reader), "/account/application-credentials/"
    assert "Make one for demo" in page.get(there).text
    shown = page.post(there, {"name": "mine", "role": "reader", "days": "3"})
    text = shown.context["clouds_yaml"]
    auth = yaml.safe_load(text)["clouds"]["kilonova"]["auth"]
    assert auth["application_credential_secret"] in shown.text
    assert enter(id=auth["application_credential_id"], secret=auth["application_credential_secret"]).status_code == 201
    assert auth["application_credential_secret"] not in page.get(there).text
    assert "already" in page.post(there, {"name": "mine", "role": "reader"}).text
    assert "Select a valid choice" in page.post(there, {"name": "more", "role": "member"}).text
    row = ApplicationCredential.objects.get(name="mine")
    assert as_person(world.stranger).post(f"{there}delete/", {"credential": str(row.pk)}).status_code == 404
    assert page.post(f"{there}delete/", {"credential": str(row.pk)}).status_code == 302
    assert not ApplicationCredential.objects.exists()

    made(world.member)
    User.objects.filter(username="root").update(is_superuser=True, is_staff=True)
    admin = as_person(world.admin)
    row = ApplicationCredential.objects.get()
    assert row.digest not in admin.get(f"/admin/identity/applicationcredential/{row.pk}/change/").text
    admin.post(f"/admin/identity/applicationcredential/{row.pk}/delete/", {"post": "yes"})
    assert not ApplicationCredential.objects.exists()
