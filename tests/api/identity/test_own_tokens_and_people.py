"""One's own tokens, changing users and roles, the session's door, and every view's place in the policy."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.permissions import AllowAny
from rest_framework.test import APIClient

from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.identity.policy import DEFAULT_RULES
from tests.worlds import cloud as world

METHODS = ("get", "post", "put", "patch", "delete")
# Public on purpose: the login, and the description of the API.
PUBLIC = {"TokenView", "CachedSchema", "SpectacularSwaggerSplitView", "ApiDocs"}


@pytest.fixture
def who(transactional_db: None) -> world.People:
    return world.people()


def user(name: str) -> User:
    return User.objects.get(username=name)


def test_own_tokens_are_listed_without_their_secret(who: world.People) -> None:
    client = world.client_of(who.member)
    world.client_of(who.reader)
    body = client.get("/api/tokens/").json()
    assert body["count"] == 1
    assert set(body["results"][0]) == {"id", "project", "is_system", "created_at", "expires_at", "last_used_at"}


def test_list_of_tokens_needs_a_login(who: world.People) -> None:
    answer = APIClient().get("/api/tokens/")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"]


def test_own_token_is_revoked_by_its_id(who: world.People) -> None:
    client, other = world.client_of(who.member), world.client_of(who.member)
    token = Token.objects.order_by("created_at").last()
    assert token is not None
    assert client.delete(f"/api/tokens/{token.pk}/").status_code == 204
    assert other.get("/api/me/").status_code == 401
    assert client.get("/api/me/").status_code == 200


def test_token_of_somebody_else_is_not_found(who: world.People) -> None:
    world.client_of(who.admin)
    token = Token.objects.get()
    assert world.client_of(who.member).delete(f"/api/tokens/{token.pk}/").status_code == 404
    token.refresh_from_db()
    assert not token.revoked


def test_login_works_with_an_expired_token_sent_along(who: world.People) -> None:
    client = APIClient()
    client.credentials(HTTP_X_AUTH_TOKEN="kn_long_gone")
    body = {"username": "mary", "password": world.PASSWORD}
    assert client.post("/api/tokens/", body, format="json").status_code == 201


@pytest.mark.parametrize("text", ["x" * 100_000, "é", "kn_", " "])
def test_nonsense_as_token_is_a_plain_401(who: world.People, text: str) -> None:
    assert APIClient().get("/api/me/", HTTP_X_AUTH_TOKEN=text).status_code == 401


def test_head_is_allowed_like_get(who: world.People) -> None:
    assert world.client_of(who.reader).head("/api/me/").status_code == 200


def test_session_reads_freely_and_writes_only_with_the_csrf_token(who: world.People) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(user("mary"))
    assert client.get("/api/me/").json()["user"]["username"] == "mary"
    assert client.delete("/api/tokens/current/").status_code == 403


def test_session_works_in_the_chosen_project(who: world.People) -> None:
    other = Project.objects.get(name="other")
    RoleAssignment.objects.create(user=user("mary"), project=other, role="reader")
    client = APIClient()
    client.force_login(user("mary"))
    session = client.session
    session["project_id"] = str(other.pk)
    session.save()
    assert client.get("/api/me/").json()["project"]["name"] == "other"


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"username": "rita"}, 409, "username"),
        ({"username": "a b!"}, 400, "username"),
        ({"email": "nonsense"}, 400, "email"),
        ({"email": "mary@example.org", "password": "short"}, 400, "password"),
    ],
)
def test_bad_change_of_a_user_changes_nothing(
    who: world.People, changes: dict[str, str], status: int, field: str
) -> None:
    answer = world.client_of(who.admin).patch(f"/api/users/{user('mary').pk}/", changes, format="json")
    assert answer.status_code == status
    assert answer.json()["error"]["field"] == field
    assert user("mary").email == ""


def test_last_superuser_cannot_be_switched_off(who: world.People) -> None:
    root = User.objects.create_superuser("chief", password=world.PASSWORD)
    answer = world.client_of(who.admin).patch(f"/api/users/{root.pk}/", {"is_active": False}, format="json")
    assert answer.status_code == 409
    assert answer.json()["error"]["field"] == "is_active"


@pytest.mark.parametrize("caller", ["member", "reader", "stranger"])
def test_only_admins_change_identity(who: world.People, caller: str) -> None:
    client = world.client_of(getattr(who, caller))
    mary = user("mary")
    assert client.post("/api/projects/", {"name": "mine"}, format="json").status_code == 403
    assert client.patch(f"/api/users/{mary.pk}/", {"is_superuser": True}, format="json").status_code == 403
    role = {"user": str(mary.pk), "project": str(who.member.project_id), "role": "admin"}
    assert client.post("/api/role-assignments/", role, format="json").status_code == 403
    assert not Project.objects.filter(name="mine").exists()
    assert not user("mary").is_superuser


def test_role_is_taken_away_over_the_api(who: world.People) -> None:
    admin, mary = world.client_of(who.admin), world.client_of(who.member)
    role = RoleAssignment.objects.get(user__username="mary")
    assert admin.delete(f"/api/role-assignments/{role.pk}/").status_code == 204
    assert mary.get("/api/me/").status_code == 401


def test_lists_filter_order_and_refuse_nonsense(who: world.People) -> None:
    admin = world.client_of(who.admin)
    names = [row["name"] for row in admin.get("/api/projects/?ordering=-name").json()["results"]]
    assert names == ["other", "demo"]
    assert admin.get("/api/users/?username__icontains=AR").json()["count"] == 1
    assert admin.get("/api/role-assignments/?role=member").json()["count"] == 2
    assert admin.get("/api/role-assignments/?project=nonsense").status_code == 400


def api_views(patterns: list[Any]) -> Iterator[tuple[type[Any], dict[str, str]]]:
    """Every REST view of the project, with its map from method to action (empty when it has none)."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from api_views(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and hasattr(pattern.callback, "cls"):
            yield pattern.callback.cls, getattr(pattern.callback, "actions", None) or {}


def test_every_method_of_every_view_names_a_known_action() -> None:
    views = list(api_views(get_resolver().url_patterns))
    assert len(views) > 10
    for view, actions in views:
        if view.__name__ in PUBLIC or view.__name__ == "APIRootView":
            continue
        assert AllowAny not in view.permission_classes, f"{view.__name__} is public"
        for method in METHODS:
            key = actions.get(method) if actions else (method if hasattr(view, method) else None)
            if key and method in view.http_method_names:
                assert view.policy.get(key) in DEFAULT_RULES, f"{view.__name__} does not say which action {key} is"
