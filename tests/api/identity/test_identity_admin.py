"""Identity in the Django admin, and its login."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from controlplane.identity.models import Project, Token, User
from controlplane.identity.selectors import caller_for_token
from controlplane.identity.services import token_issue
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
NO_ROLES = {"role_assignments-TOTAL_FORMS": "0", "role_assignments-INITIAL_FORMS": "0"}
NEW = {"usable_password": "true", "password1": "another long word", "password2": "another long word"}


@pytest.fixture
def chief() -> User:
    world.people()
    return User.objects.create_superuser("chief", password=world.PASSWORD)


@pytest.fixture
def admin(chief: User) -> Client:
    client = Client()
    client.force_login(chief)
    return client


def login(client: Client, password: str, name: str = "chief", **more: str) -> int:
    return client.post("/admin/login/", {"username": name, "password": password}, **more).status_code  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "page",
    [
        "user/",
        "user/add/",
        "project/",
        "project/add/",
        "roleassignment/",
        "roleassignment/add/",
        "token/",
        "loginfailure/",
    ],
)
def test_page_opens(admin: Client, page: str) -> None:
    assert admin.get(f"/admin/identity/{page}").status_code == 200


@pytest.mark.parametrize("page", ["user", "project", "token", "roleassignment"])
def test_search_works(admin: Client, page: str) -> None:
    assert admin.get(f"/admin/identity/{page}/?q=demo").status_code == 200


def test_quota_of_a_project_is_set_in_its_form(admin: Client) -> None:
    project = Project.objects.get(name="demo")
    fields = {"name": "demo", "enabled": "on", "quota_instances": "-1", "quota_images": "5", "quota_image_bytes": "7"}
    assert admin.post(f"/admin/identity/project/{project.pk}/change/", {**fields, **NO_ROLES}).status_code == 302
    project.refresh_from_db()
    assert (project.quota_instances, project.quota_images, project.quota_image_bytes) == (-1, 5, 7)
    assert project.quota_image_uploads is None


def test_user_is_made_with_a_password(admin: Client) -> None:
    admin.post("/admin/identity/user/add/", {"username": "nina", **NEW, **NO_ROLES})
    assert User.objects.get(username="nina").check_password(NEW["password1"])


def test_new_password_ends_tokens(admin: Client) -> None:
    issued = token_issue(username="mary", password=world.PASSWORD)
    mary = User.objects.get(username="mary")
    assert admin.post(f"/admin/identity/user/{mary.pk}/password/", NEW).status_code == 302
    assert caller_for_token(issued.token) is None


def test_last_superuser_is_neither_demoted_nor_deleted(admin: Client, chief: User) -> None:
    answer = admin.post(f"/admin/identity/user/{chief.pk}/change/", {"username": "chief", "is_staff": "on", **NO_ROLES})
    assert b"last active superuser" in answer.content
    assert admin.post(f"/admin/identity/user/{chief.pk}/delete/", {"post": "yes"}).status_code == 403
    chief.refresh_from_db()
    assert chief.is_active
    assert chief.is_superuser


def test_token_is_read_only_hides_its_digest_and_can_be_revoked(admin: Client) -> None:
    issued = token_issue(username="mary", password=world.PASSWORD)
    token = Token.objects.get()
    page = admin.get(f"/admin/identity/token/{token.pk}/change/")
    assert token.digest.encode() not in page.content
    assert admin.get("/admin/identity/token/add/").status_code == 403
    admin.post("/admin/identity/token/", {"action": "revoke", "_selected_action": [str(token.pk)]})
    assert caller_for_token(issued.token) is None


def test_login_is_slowed_down_like_the_api(chief: User) -> None:
    client = Client()
    for _ in range(5):
        assert login(client, "wrong") == 200
    assert (
        b"Too many failed logins"
        in client.post("/admin/login/", {"username": "chief", "password": world.PASSWORD}).content
    )
    assert not Session.objects.exists()
    assert login(client, world.PASSWORD, REMOTE_ADDR="10.9.8.7") == 302


def test_login_is_for_staff(chief: User) -> None:
    assert login(Client(), world.PASSWORD, name="mary") == 200
    assert login(Client(), world.PASSWORD) == 302


def test_project_that_owns_roles_shows_them(admin: Client) -> None:
    demo = Project.objects.get(name="demo")
    assert b"mary" in admin.get(f"/admin/identity/project/{demo.pk}/change/").content
