"""One's own account: password, tokens, second factor, quota; and what an administrator does for somebody."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Caller
from controlplane.identity.domain.outside import OutsidePerson, Source
from controlplane.identity.models import Project, RoleAssignment, SecondFactor, Token, User
from controlplane.identity.selectors import caller_for_token
from controlplane.identity.selectors.second_factors import secret_begun
from controlplane.identity.services import token_issue
from controlplane.identity.services.outsiders import outsider_admit
from tests.worlds.cloud import PASSWORD, People
from tests.worlds.second_factors import code_of, set_up

AsPerson = Callable[[Caller], Client]
NEW = "another long word"


def mary() -> User:
    return User.objects.get(username="mary")


@pytest.mark.parametrize("who", ["admin", "member", "reader", "stranger"])
def test_everybody_has_an_account_with_the_quota_of_the_project(people: People, as_person: AsPerson, who: str) -> None:
    caller: Caller = getattr(people, who)
    page = as_person(caller).get("/account/").text
    assert f"What {caller.project_name} may use" in page
    assert caller.username in page
    assert "Instances" in page


@pytest.mark.parametrize("who", ["admin", "member", "reader", "stranger"])
def test_clouds_yaml_names_the_person_and_the_project_and_no_password(
    people: People, as_person: AsPerson, who: str
) -> None:
    caller: Caller = getattr(people, who)
    answer = as_person(caller).get("/account/clouds.yaml")
    assert answer["Content-Disposition"] == 'attachment; filename="clouds.yaml"'
    auth = yaml.safe_load(answer.content)["clouds"]["kilonova"]["auth"]
    assert auth["auth_url"] == "http://testserver/identity/v3"
    assert (auth["username"], auth["project_name"]) == (caller.username, caller.project_name)
    assert "password" not in auth


def test_account_needs_a_log_in() -> None:
    for path in ("/account/", "/account/password/", "/account/second-factor/"):
        assert Client().get(path).headers["Location"].startswith("/login/")


def test_password_is_changed_by_who_knows_it(people: People, as_person: AsPerson) -> None:
    client, other = as_person(people.member), as_person(people.member)
    issued = token_issue(username="mary", password=PASSWORD)
    given = {"current": PASSWORD, "new": NEW, "again": NEW}

    assert "This is not your password." in client.post("/account/password/", {**given, "current": "wrong"}).text
    assert "The two new passwords differ." in client.post("/account/password/", {**given, "again": "x"}).text
    assert "too short" in client.post("/account/password/", {**given, "new": "x", "again": "x"}).text
    assert mary().check_password(PASSWORD)
    assert client.post("/account/password/", given).headers["Location"] == "/account/"

    assert mary().check_password(NEW)
    assert client.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert caller_for_token(issued.token) is None
    assert AuditLogEntry.objects.filter(action="user.password_change", user_name="mary", result="done").count() == 1


def test_guessing_the_password_of_an_open_session_is_braked(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    given = {"current": "wrong", "new": NEW, "again": NEW}
    for _ in range(5):
        client.post("/account/password/", given)
    assert "Too many failed logins" in client.post("/account/password/", {**given, "current": PASSWORD}).text
    assert mary().check_password(PASSWORD)


def test_person_from_outside_changes_the_password_there(people: People, client: Client) -> None:
    olga = outsider_admit(OutsidePerson(Source.LDAP, "directory", "1", "olga"))
    RoleAssignment.objects.create(user=olga, project=Project.objects.get(name="demo"), role="reader")
    client.force_login(olga)
    assert "kept by the directory" in client.get("/account/").text
    assert "change it there" in client.get("/account/password/").text
    answer = client.post("/account/password/", {"current": "x", "new": NEW, "again": NEW})
    assert "keeps the password" in answer.text or "change it there" in answer.text
    olga.refresh_from_db()
    assert not olga.has_usable_password()


def test_token_is_made_without_the_password_shown_once_and_revoked(people: People, as_person: AsPerson) -> None:
    client = as_person(people.reader)
    page = client.post("/account/tokens/", {"hours": "2"}).text
    found = re.search(r"kn_[\w-]{20,}", page)
    assert found is not None
    known = caller_for_token(found[0])
    assert known is not None
    assert known[1].caller == people.reader
    assert found[0] not in client.get("/account/").text
    token = Token.objects.get()
    assert 7100 < (token.expires_at - token.created_at).total_seconds() < 7300
    assert AuditLogEntry.objects.filter(action="token.issue", user_name="rita").count() == 1
    client.post("/account/tokens/revoke/", {"token": str(token.pk)})
    assert caller_for_token(found[0]) is None


@pytest.mark.parametrize("hours", ["0", "25", "nan", "inf", "x", ""])
def test_token_lives_no_longer_than_is_allowed(people: People, as_person: AsPerson, hours: str) -> None:
    page = as_person(people.member).post("/account/tokens/", {"hours": hours})
    assert page.status_code == 200
    assert 'class="errorlist"' in page.text
    assert not Token.objects.exists()


def test_token_of_somebody_else_is_not_revoked(people: People, as_person: AsPerson) -> None:
    issued = token_issue(username="mary", password=PASSWORD)
    answer = as_person(people.stranger).post("/account/tokens/revoke/", {"token": str(Token.objects.get().pk)})
    assert answer.status_code == 400
    assert caller_for_token(issued.token) is not None


def test_second_factor_is_set_up_renewed_and_given_up(people: People, as_person: AsPerson) -> None:
    client, path = as_person(people.member), "/account/second-factor/"
    assert "Set up a second factor" in client.get(path).text
    client.post(path, {"do": "begin"})
    secret = secret_begun(user=mary())
    assert secret is not None
    assert "<svg" in client.get(path).text
    assert "The code is wrong" in client.post(path, {"do": "confirm", "code": "12"}).text
    codes = re.findall(r"<li>([A-Z2-7-]{19})</li>", client.post(path, {"do": "confirm", "code": code_of(secret)}).text)
    assert len(codes) == 10
    page = client.get(path).text
    assert "10 recovery codes left" in page
    assert codes[0] not in page
    assert secret not in re.sub(r"\s", "", page)
    fresh = re.findall(r"<li>([A-Z2-7-]{19})</li>", client.post(path, {"do": "renew", "code": codes[0]}).text)
    assert len(fresh) == 10
    assert not set(fresh) & set(codes)
    assert client.post(path, {"do": "give-up", "code": fresh[0]}).headers["Location"] == "/account/"
    assert not SecondFactor.objects.exists()
    actions = set(AuditLogEntry.objects.filter(user_name="mary").values_list("action", flat=True))
    assert {f"second_factor.{one}" for one in ("begin", "confirm", "recovery_codes", "give_up")} <= actions


def test_session_that_set_one_up_goes_on_where_it_is_required_later(
    people: People, as_person: AsPerson, settings: Any
) -> None:
    client, path = as_person(people.admin), "/account/second-factor/"
    client.post(path, {"do": "begin"})
    secret = secret_begun(user=User.objects.get(username="root"))
    assert secret is not None
    client.post(path, {"do": "confirm", "code": code_of(secret)})
    settings.KILONOVA = {**settings.KILONOVA, "SECOND_FACTOR_REQUIRED": "staff"}
    assert client.get("/hosts/").status_code == 200


def test_nonsense_is_refused(people: People, as_person: AsPerson) -> None:
    client, path = as_person(people.member), "/account/second-factor/"
    assert client.post(path, {"do": "dance"}).status_code == 400
    assert client.post(path, {"do": "confirm", "code": "123456"}).status_code == 200
    set_up(mary())
    assert client.post(path, {"do": "begin"}).status_code == 409


def test_administrator_takes_a_second_factor_away(people: People, as_person: AsPerson) -> None:
    set_up(mary())
    path = f"/users/{mary().pk}/second-factor/"
    assert as_person(people.member).post(path).status_code == 403
    client = as_person(people.admin)
    assert "Remove the second factor of mary" in client.get(f"/users/{mary().pk}/").text
    assert client.post(path).status_code == 302
    assert not SecondFactor.objects.exists()
    assert client.post(path).status_code == 404
    entry = AuditLogEntry.objects.get(action="second_factor.remove", result="done")
    assert (entry.user_name, entry.target_name) == ("root", "mary")


def test_page_of_an_outsider_says_where_the_roles_come_from(people: People, as_person: AsPerson, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "LDAP_GROUP_ROLES": ("lab=demo:reader",)}
    olga = outsider_admit(OutsidePerson(Source.LDAP, "directory", "1", "olga", groups=frozenset({"lab"})))
    page = as_person(people.admin).get(f"/users/{olga.pk}/").text
    assert "by a group" in page
    assert "the directory" in page


def test_account_costs_the_same_with_many_tokens(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)

    def cost() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            client.get("/account/")
        return len(seen)

    client.get("/account/")
    before = cost()
    for _ in range(5):
        token_issue(username="mary", password=PASSWORD)
    assert cost() == before
