"""Identity in the Django admin, and its login."""

import pytest
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.test import Client

from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.identity.selectors import caller_for_token
from controlplane.identity.services import token_issue
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask_and_confirm

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
        "knownaddress/",
    ],
)
def test_page_opens(admin: Client, page: str) -> None:
    assert admin.get(f"/admin/identity/{page}").status_code == 200


def test_every_field_of_a_role_below_a_user_says_what_it_is(admin: Client) -> None:
    somebody = RoleAssignment.objects.order_by("pk")[0].user_id
    shown = admin.get(f"/admin/identity/user/{somebody}/change/").text

    assert [f'aria-label="{name}"' in shown for name in ("Project", "Role", "Delete")] == [True] * 3


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
    ask_and_confirm(admin, "/admin/identity/token/", "revoke", [str(token.pk)])
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


def staff(*codenames: str, name: str = "clerk") -> Client:
    """Somebody who opens the admin with these permissions of identity and auth, and no more."""
    user = User.objects.create_user(username=name, password=world.PASSWORD, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


EDITS_PEOPLE = ("view_user", "change_user", "add_user", "delete_user")
EDITS_ROLES = ("view_roleassignment", "add_roleassignment", "change_roleassignment", "delete_roleassignment")


def test_staff_who_edits_users_makes_nobody_superuser_or_staff(chief: User) -> None:
    clerk = staff(*EDITS_PEOPLE)
    for name in ("mary", "clerk"):
        row = User.objects.get(username=name)
        rights = {"is_active": "on", "is_staff": "on", "is_superuser": "on", "user_permissions": "1"}
        clerk.post(f"/admin/identity/user/{row.pk}/change/", {"username": name, **rights, **NO_ROLES})
    assert set(User.objects.filter(is_superuser=True)) == {chief}
    mary = User.objects.get(username="mary")
    assert not mary.is_staff
    assert not mary.user_permissions.exists()


@pytest.mark.parametrize("name", ["chief", "root"])
def test_staff_who_edits_users_leaves_those_with_more_power_alone(chief: User, name: str) -> None:
    """A superuser, and somebody with the role admin."""
    clerk = staff(*EDITS_PEOPLE)
    row = User.objects.get(username=name)
    path = f"/admin/identity/user/{row.pk}"
    assert clerk.post(f"{path}/password/", NEW).status_code == 403
    assert clerk.post(f"{path}/change/", {"username": "x", **NO_ROLES}).status_code == 403
    assert clerk.post(f"{path}/delete/", {"post": "yes"}).status_code == 403
    ask_and_refused = clerk.post("/admin/identity/user/", {"action": "delete_selected", "_selected_action": [row.pk]})
    assert ask_and_refused.status_code != 500
    assert User.objects.get(username=name).check_password(world.PASSWORD)


def test_staff_who_edits_users_still_edits_ordinary_ones(chief: User) -> None:
    clerk = staff(*EDITS_PEOPLE)
    mary = User.objects.get(username="mary")
    body = {"username": "mary", "email": "mary@example.org", "is_active": "on", **NO_ROLES}
    clerk.post(f"/admin/identity/user/{mary.pk}/change/", body)
    assert User.objects.get(username="mary").email == "mary@example.org"
    assert clerk.post(f"/admin/identity/user/{mary.pk}/password/", NEW).status_code == 302


def test_role_admin_is_given_and_taken_by_superusers_only(chief: User) -> None:
    clerk = staff(*EDITS_PEOPLE, *EDITS_ROLES, "view_project", "change_project")
    mary, demo = User.objects.get(username="mary"), Project.objects.get(name="demo")
    wanted = {"user": str(mary.pk), "project": str(demo.pk), "role": "admin"}
    clerk.post("/admin/identity/roleassignment/add/", wanted)
    inline = {f"role_assignments-0-{name}": value for name, value in wanted.items()}
    inline |= {"role_assignments-TOTAL_FORMS": "1", "role_assignments-INITIAL_FORMS": "0"}
    clerk.post(f"/admin/identity/user/{mary.pk}/change/", {"username": "mary", "is_active": "on", **inline})
    clerk.post(f"/admin/identity/project/{demo.pk}/change/", {"name": "demo", "enabled": "on", **inline})
    assert not RoleAssignment.objects.filter(user=mary, role="admin").exists()
    held = RoleAssignment.objects.get(user__username="root", role="admin")
    assert clerk.post(f"/admin/identity/roleassignment/{held.pk}/delete/", {"post": "yes"}).status_code == 403
    assert clerk.post("/admin/identity/roleassignment/add/", {**wanted, "role": "reader"}).status_code == 302


def test_groups_are_edited_by_superusers_only(chief: User, admin: Client) -> None:
    clerk = staff("view_group", "add_group", "change_group", "delete_group")
    assert clerk.post("/admin/auth/group/add/", {"name": "mine", "permissions": "1"}).status_code == 403
    assert admin.post("/admin/auth/group/add/", {"name": "ours"}).status_code == 302


def test_all_superusers_at_once_are_not_deleted(admin: Client, chief: User) -> None:
    second = User.objects.create_superuser("second", password=world.PASSWORD)
    page = ask_and_confirm(admin, "/admin/identity/user/", "delete_selected", [str(chief.pk), str(second.pk)])
    assert "no active superuser would be left" in page.content.decode()
    assert User.objects.filter(is_superuser=True).count() == 2
    assert not LogEntry.objects.filter(action_flag=DELETION).exists()


def test_one_of_two_superusers_is_deleted(admin: Client, chief: User) -> None:
    second = User.objects.create_superuser("second", password=world.PASSWORD)
    ask_and_confirm(admin, "/admin/identity/user/", "delete_selected", [str(second.pk)])
    assert list(User.objects.filter(is_superuser=True)) == [chief]
