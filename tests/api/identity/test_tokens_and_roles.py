"""Tokens, and who may look at identity."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import LoginFailure, Project, RoleAssignment, Token, User
from controlplane.infra.db import now_plus
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.people()


def issue(client: APIClient, **changes: Any) -> Any:
    return client.post("/api/tokens/", {"username": "mary", "password": world.PASSWORD, **changes}, format="json")


def me(token: str, header: str = "HTTP_X_AUTH_TOKEN", scheme: str = "") -> Any:
    return APIClient().get("/api/me/", **{header: f"{scheme}{token}"})  # type: ignore[arg-type]


def test_token_is_shown_once_and_stored_as_a_digest(who: world.People) -> None:
    body = issue(APIClient()).json()
    assert {"token", "expires_at", "project", "roles"} <= set(body)
    row = Token.objects.get()
    assert body["token"] not in {row.digest, str(row.pk)}
    assert len(row.digest) == 64


def test_token_works_in_both_headers(who: world.People) -> None:
    token = issue(APIClient()).json()["token"]
    for answer in (me(token), me(token, "HTTP_AUTHORIZATION", "Token ")):
        assert answer.status_code == 200
        assert answer.json()["user"]["username"] == "mary"
        assert answer.json()["roles"] == ["member"]


@pytest.mark.parametrize("changes", [{"password": "wrong"}, {"username": "nobody"}])
def test_wrong_name_and_wrong_password_get_one_answer(who: world.People, changes: dict[str, str]) -> None:
    answer = issue(APIClient(), **changes)
    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "The username or the password is wrong."


def test_disabled_user_cannot_log_in_and_its_tokens_end(who: world.People) -> None:
    token = issue(APIClient()).json()["token"]
    User.objects.filter(username="mary").update(is_active=False)
    assert issue(APIClient()).status_code == 401
    assert me(token).status_code == 401


def test_guessing_is_slowed_down_for_that_address_only(who: world.People) -> None:
    for _ in range(5):
        issue(APIClient(), password="wrong")
    answer = issue(APIClient())
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert issue(APIClient(REMOTE_ADDR="10.9.8.7")).status_code == 201
    LoginFailure.objects.update(last_failed_at=now_plus(-3600))
    assert issue(APIClient()).status_code == 201


@pytest.mark.parametrize("body", [{}, {"username": "mary"}, {"username": ["x"], "password": {}}])
def test_incomplete_credentials_name_the_field(body: dict[str, Any]) -> None:
    answer = APIClient().post("/api/tokens/", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] in {"username", "password"}


def test_project_is_the_named_one_or_the_first_by_name(who: world.People) -> None:
    other = Project.objects.get(name="other")
    RoleAssignment.objects.create(user=User.objects.get(username="mary"), project=other, role="reader")
    assert issue(APIClient()).json()["project"]["name"] == "demo"
    assert issue(APIClient(), project="other").json()["roles"] == ["reader"]
    assert issue(APIClient(), project="moon").json()["error"]["field"] == "project"


def test_expired_and_revoked_tokens_are_refused(who: world.People) -> None:
    client = world.client_of(who.member)
    assert client.get("/api/me/").status_code == 200
    assert client.delete("/api/tokens/current/").status_code == 204
    assert client.get("/api/me/").status_code == 401
    client = world.client_of(who.member)
    Token.objects.update(expires_at=now_plus(-1))
    assert client.get("/api/me/").status_code == 401


def test_role_taken_away_ends_the_token_at_once(who: world.People) -> None:
    client = world.client_of(who.member)
    RoleAssignment.objects.filter(user__username="mary").delete()
    assert client.get("/api/instances/").status_code == 401


def test_disabled_project_refuses_its_tokens(who: world.People) -> None:
    client = world.client_of(who.member)
    Project.objects.update(enabled=False)
    assert client.get("/api/instances/").status_code == 401


@pytest.mark.parametrize("path", ["projects", "users", "role-assignments"])
def test_identity_is_for_admins(who: world.People, path: str) -> None:
    callers: list[tuple[Caller, int]] = [(who.admin, 200), (who.member, 403), (who.reader, 403), (who.stranger, 403)]
    for caller, status in callers:
        assert world.client_of(caller).get(f"/api/{path}/").status_code == status
    assert APIClient().get(f"/api/{path}/").status_code == 401


def test_admin_makes_a_project_a_user_and_a_role(who: world.People) -> None:
    admin = world.client_of(who.admin)
    project = admin.post("/api/projects/", {"name": "new", "quota_cores": 8}, format="json").json()
    user = admin.post("/api/users/", {"username": "nina", "password": "a long enough word"}, format="json").json()
    assert "password" not in user
    role = {"user": user["id"], "project": project["id"], "role": Role.MEMBER.value}
    assert admin.post("/api/role-assignments/", role, format="json").status_code == 201
    token = issue(APIClient(), username="nina", password="a long enough word").json()
    assert token["project"]["name"] == "new"


def test_quota_of_a_project_is_set_and_minus_one_is_unlimited(who: world.People) -> None:
    admin = world.client_of(who.admin)
    path = f"/api/projects/{who.member.project_id}/"
    quota = {"quota_instances": -1, "quota_images": 3, "quota_image_bytes": 2**40, "quota_image_uploads": 0}
    shown = admin.patch(path, quota, format="json").json()
    assert {name: shown[name] for name in quota} == quota
    limits = world.client_of(who.member).get("/api/quota/").json()["limits"]
    assert (limits["instances"], limits["images"], limits["image_bytes"]) == (-1, 3, 2**40)
    refused = admin.patch(path, {"quota_images": -2}, format="json")
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "quota_images")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"username": "mary", "password": "a long enough word"}, "username"),
        ({"username": "new", "password": "short"}, "password"),
        ({"username": "a b!", "password": "a long enough word"}, "username"),
        ({"password": "a long enough word"}, "username"),
    ],
)
def test_bad_user_names_its_field(who: world.People, body: dict[str, str], field: str) -> None:
    answer = world.client_of(who.admin).post("/api/users/", body, format="json")
    assert answer.status_code in {400, 409}
    assert answer.json()["error"]["field"] == field


def test_new_password_ends_the_tokens_of_the_user(who: world.People) -> None:
    client = world.client_of(who.member)
    mary = User.objects.get(username="mary")
    changed = world.client_of(who.admin).patch(
        f"/api/users/{mary.pk}/", {"password": "another long word"}, format="json"
    )
    assert changed.status_code == 200
    assert client.get("/api/me/").status_code == 401


def test_unknown_action_is_allowed_to_nobody(who: world.People) -> None:
    from controlplane.identity.policy import UnknownActionError, require

    with pytest.raises(UnknownActionError):
        require(who.admin, "moon:land")


def test_user_may_be_made_switched_off(who: world.People) -> None:
    body = {"username": "nina", "password": "a long enough word", "is_active": False}
    answer = world.client_of(who.admin).post("/api/users/", body, format="json")
    assert (answer.status_code, answer.json()["is_active"]) == (201, False)
    assert not User.objects.get(username="nina").is_active
