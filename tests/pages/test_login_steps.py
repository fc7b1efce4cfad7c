"""Logging in to pages and the Django admin with a second factor, where there is one and where there has to be one."""

import re
import time
from typing import Any

import pytest
from django.test import Client

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity import login_steps
from controlplane.identity.models import RoleAssignment, SecondFactor, User
from controlplane.identity.selectors.second_factors import secret_begun
from tests.worlds.cloud import PASSWORD, People
from tests.worlds.second_factors import code_of, set_up


def password(client: Client, name: str = "mary", page: str = "/login/", target: str = "/instances/") -> Any:
    return client.post(page, {"username": name, "password": PASSWORD, "next": target})


def is_inside(client: Client) -> bool:
    return "_auth_user_id" in client.session


def person(name: str = "mary") -> User:
    return User.objects.get(username=name)


def required(settings: Any, of: str) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SECOND_FACTOR_REQUIRED": of}


def test_password_alone_opens_nothing_for_who_has_a_second_factor(people: People) -> None:
    secret, _ = set_up(person())
    client = Client()
    assert password(client).headers["Location"] == "/login/code/"
    for page in ("/instances/", "/account/", "/api/me/", "/admin/"):
        assert client.get(page).status_code in {302, 401, 403}
    assert not is_inside(client)
    answer = client.post("/login/code/", {"code": code_of(secret)})
    assert answer.headers["Location"] == "/instances/"
    assert client.get("/instances/").status_code == 200


def test_code_is_asked_for_only_after_a_password(people: People) -> None:
    secret, codes = set_up(person())
    client = Client()
    for page in ("/login/code/", "/login/set-up/"):
        assert client.get(page).headers["Location"] == "/login/"
        assert client.post(page, {"code": codes[0]}).headers["Location"] == "/login/"
    assert not is_inside(client)
    assert secret


def test_wrong_code_is_said_at_the_field_and_used_ones_count_no_more(people: People) -> None:
    _, codes = set_up(person())
    client = Client()
    password(client)
    page = client.post("/login/code/", {"code": "ABCD-ABCD-ABCD-ABC1"}).text
    assert "The code is wrong, or was used already." in page
    assert 'aria-invalid="true"' in page
    client.post("/login/code/", {"code": codes[0]})
    assert is_inside(client)
    other = Client()
    password(other)
    other.post("/login/code/", {"code": codes[0]})
    assert not is_inside(other)


def test_codes_are_braked_and_a_new_password_try_does_not_help(people: People) -> None:
    _, codes = set_up(person())
    client = Client()
    for _ in range(5):
        password(client)
        client.post("/login/code/", {"code": "ABCD-ABCD-ABCD-ABC1"})
    password(client)
    assert "Too many failed logins" in client.post("/login/code/", {"code": codes[0]}).text
    assert not is_inside(client)


def test_who_waits_too_long_or_was_switched_off_or_has_a_new_password_begins_anew(people: People) -> None:
    _, codes = set_up(person())

    def ends(change: Any) -> None:
        client = Client()
        password(client)
        change(client)
        assert client.post("/login/code/", {"code": codes[0]}).headers["Location"] == "/login/"
        assert not is_inside(client)

    ends(_late)
    ends(lambda _: User.objects.filter(username="mary").update(is_active=False))
    User.objects.filter(username="mary").update(is_active=True)
    ends(lambda _: _new_password())


def _late(client: Client) -> None:
    session = client.session
    session[login_steps.PENDING] = {**session[login_steps.PENDING], "at": time.time() - 700}
    session.save()


def _new_password() -> None:
    mary = person()
    mary.set_password("another long word")
    mary.save()


def test_second_factor_is_set_up_while_logging_in_where_it_is_required(people: People, settings: Any) -> None:
    required(settings, "staff")
    client = Client()
    assert password(client, "root").headers["Location"] == "/login/set-up/"
    assert not is_inside(client)
    page = client.get("/login/set-up/").text
    secret = secret_begun(user=person("root"))
    assert secret is not None
    assert "<svg" in page
    assert secret in re.sub(r"\s", "", page)
    answer = client.post("/login/set-up/", {"code": code_of(secret)})
    assert len(re.findall(r"<li>[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}</li>", answer.text)) == 10
    assert 'href="/instances/"' in answer.text
    assert client.get("/hosts/").status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    names = set(AuditLogEntry.objects.values_list("user_name", "action"))
    assert {("root", "second_factor.confirm"), ("root", "session.begin")} <= names


def test_members_need_none_where_only_staff_does(people: People, settings: Any) -> None:
    required(settings, "staff")
    client = Client()
    assert password(client).headers["Location"] == "/instances/"
    assert client.get("/instances/").status_code == 200


@pytest.mark.parametrize("name", ["root", "chief"])
def test_sessions_of_staff_from_before_the_setting_end(people: People, settings: Any, name: str) -> None:
    User.objects.create_superuser("chief", password=PASSWORD)
    client = Client()
    password(client, name)
    assert client.get("/hosts/").status_code == 200
    required(settings, "staff")
    assert client.get("/hosts/").status_code in {302, 403}
    assert client.get("/api/hosts/").status_code in {401, 403}
    assert client.get("/admin/identity/user/").status_code == 302


def test_session_of_a_member_who_becomes_admin_needs_one(people: People, settings: Any) -> None:
    required(settings, "staff")
    client = Client()
    password(client)
    RoleAssignment.objects.filter(user=person()).update(role="admin")
    page = client.get("/hosts/")
    assert page.status_code == 403
    assert "Administrators need a second factor" in page.text
    assert client.get("/api/hosts/").status_code in {401, 403}


def test_admin_s_own_page_asks_for_the_code_too(people: People) -> None:
    chief = User.objects.create_superuser("chief", password=PASSWORD)
    secret, _ = set_up(chief)
    client = Client()
    page = "/admin/login/"
    assert client.get(page).status_code == 200
    assert password(client, "chief", page, "/admin/identity/user/").headers["Location"] == "/login/code/"
    assert client.get("/admin/identity/user/").status_code == 302
    answer = client.post("/login/code/", {"code": code_of(secret)})
    assert answer.headers["Location"] == "/admin/identity/user/"
    assert client.get("/admin/identity/user/").status_code == 200
    assert client.get(page).headers["Location"] == "/admin/"


def test_admin_s_own_page_sets_one_up_where_it_is_required(people: People, settings: Any) -> None:
    User.objects.create_superuser("chief", password=PASSWORD)
    required(settings, "staff")
    client = Client()
    assert password(client, "chief", "/admin/login/", "/admin/").headers["Location"] == "/login/set-up/"
    assert client.get("/admin/").status_code == 302
    assert not SecondFactor.objects.filter(confirmed_at__isnull=False).exists()


def test_admin_s_own_page_goes_to_the_admin_after_it(people: People) -> None:
    User.objects.create_superuser("chief", password=PASSWORD)
    client = Client()
    answer = client.post("/admin/login/?next=/admin/identity/user/", {"username": "chief", "password": PASSWORD})
    assert answer.headers["Location"] == "/admin/identity/user/"
    answer = Client().post("/admin/login/", {"username": "chief", "password": PASSWORD})
    assert answer.headers["Location"] == "/admin/"


def test_log_in_under_way_and_second_factor_outlive_a_change_of_the_secret_key(people: People, settings: Any) -> None:
    secret, _ = set_up(person())
    client = Client()
    password(client)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new-" * 20, [settings.SECRET_KEY]
    assert client.post("/login/code/", {"code": code_of(secret)}).headers["Location"] == "/instances/"
    assert client.get("/instances/").status_code == 200


def test_session_outlives_a_change_of_the_secret_key_and_then_needs_the_old_one_no_more(
    people: People, settings: Any
) -> None:
    client = Client()
    password(client)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new-" * 20, [settings.SECRET_KEY]
    assert client.get("/instances/").status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get("/instances/").status_code == 200
