"""Password and second factor over the API, and in the Django admin."""

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from controlplane.identity.domain.outside import OutsidePerson, Source
from controlplane.identity.models import ExternalIdentity, SecondFactor, User
from controlplane.identity.services.outsiders import outsider_admit
from tests.worlds import cloud as world
from tests.worlds.second_factors import code_of, set_up

pytestmark = pytest.mark.django_db
NEW = "another long word"


@pytest.fixture
def who() -> world.People:
    return world.people()


def user(name: str = "mary") -> User:
    return User.objects.get(username=name)


def log_in(**given: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    answer = APIClient().post("/api/tokens/", {"username": "mary", "password": world.PASSWORD, **given})
    return answer.status_code, answer.json()


def test_token_for_password_and_code(who: world.People) -> None:
    client = world.client_of(who.member)
    secret, codes = set_up(user())
    assert client.get("/api/me/").status_code == 200
    status, body = log_in()
    assert (status, body["error"]["code"], body["error"]["field"]) == (401, "second_factor_needed", "code")
    assert log_in(code="000")[1]["error"]["code"] == "login_refused"
    assert log_in(code=code_of(secret))[0] == 201
    assert log_in(code=code_of(secret, later=-1))[0] == 401
    assert log_in(code=codes[0])[0] == 201


def test_own_password_is_changed(who: world.People) -> None:
    client = world.client_of(who.member)
    refused = client.post("/api/me/password/", {"current": "wrong", "new": NEW})
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "current")
    weak = client.post("/api/me/password/", {"current": world.PASSWORD, "new": "x"})
    assert weak.json()["error"]["field"] == "new"
    assert client.post("/api/me/password/", {"current": world.PASSWORD, "new": NEW}).status_code == 204
    assert client.get("/api/me/").status_code == 401
    assert user().check_password(NEW)
    assert APIClient().post("/api/me/password/", {"current": NEW, "new": NEW}).status_code == 401


def test_guesses_are_braked(who: world.People) -> None:
    client = world.client_of(who.member)
    for _ in range(5):
        client.post("/api/me/password/", {"current": "wrong", "new": NEW})
    answer = client.post("/api/me/password/", {"current": world.PASSWORD, "new": NEW})
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0


def test_own_second_factor_is_seen(who: world.People) -> None:
    client = world.client_of(who.reader)
    assert client.get("/api/me/second-factor/").json() == {
        "is_set_up": False,
        "is_required": False,
        "confirmed_at": None,
        "recovery_codes_left": 0,
    }
    set_up(user("rita"))
    body = client.get("/api/me/second-factor/").json()
    assert (body["is_set_up"], body["recovery_codes_left"]) == (True, 10)
    assert client.post("/api/me/second-factor/").status_code == 405


def test_administrators_alone_take_one_away(who: world.People) -> None:
    chief = world.client_of(who.admin)
    set_up(user())
    path = f"/api/users/{user().pk}/second-factor/"
    for caller in (who.reader, who.stranger):
        assert world.client_of(caller).delete(path).status_code == 403
    assert APIClient().delete(path).status_code == 401
    assert chief.delete(path).status_code == 204
    assert chief.delete(path).status_code == 404
    assert chief.delete("/api/users/00000000-0000-0000-0000-00000000000a/second-factor/").status_code == 404


def test_list_of_users_says_where_they_log_in_in_one_query_more_or_less(who: world.People) -> None:
    chief = world.client_of(who.admin)

    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            chief.get("/api/users/")
        return len(seen)

    before = cost()
    outsider_admit(OutsidePerson(Source.OIDC, "https://id.example.org", "1", "olga"))
    set_up(user("rita"))
    assert cost() == before
    rows = {
        one["username"]: (one["external_source"], one["has_second_factor"])
        for one in chief.get("/api/users/").json()["results"]
    }
    assert (rows["olga"], rows["rita"], rows["mary"]) == (("oidc", False), (None, True), (None, False))


def clerk(*codenames: str) -> Client:
    one = User.objects.create_user(username="clerk", password=world.PASSWORD, is_staff=True)
    one.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(one)
    return client


def test_admin_lists_and_takes_away_second_factors_but_not_those_of_who_has_power(who: world.People) -> None:
    chief = User.objects.create_superuser("chief", password=world.PASSWORD)
    for one in (user(), chief):
        set_up(one)
    client = clerk("view_secondfactor", "delete_secondfactor")
    page = client.get("/admin/identity/secondfactor/").content
    assert b"mary" in page
    of_mary, of_chief = SecondFactor.objects.get(user=user()), SecondFactor.objects.get(user=chief)
    assert (
        of_mary.sealed_secret.encode() not in client.get(f"/admin/identity/secondfactor/{of_mary.pk}/change/").content
    )
    assert client.post(f"/admin/identity/secondfactor/{of_chief.pk}/delete/", {"post": "yes"}).status_code == 403
    client.post(f"/admin/identity/secondfactor/{of_mary.pk}/delete/", {"post": "yes"})
    assert list(SecondFactor.objects.all()) == [of_chief]


def test_admin_sets_no_password_for_who_logs_in_elsewhere_until_that_ends(who: world.People) -> None:
    chief = User.objects.create_superuser("chief", password=world.PASSWORD)
    client = Client()
    client.force_login(chief)
    olga = outsider_admit(OutsidePerson(Source.LDAP, "directory", "1", "olga"))
    given = {"usable_password": "true", "password1": NEW, "password2": NEW}
    path = f"/admin/identity/user/{olga.pk}/password/"
    assert b"keeps the password" in client.post(path, given).content
    identity = ExternalIdentity.objects.get()
    client.post(f"/admin/identity/externalidentity/{identity.pk}/delete/", {"post": "yes"})
    assert client.post(path, given).status_code == 302
    olga.refresh_from_db()
    assert olga.check_password(NEW)
