"""Logging in by an OpenID provider, a real one that runs in this process."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.models import ExternalIdentity, Project, RoleAssignment, User
from controlplane.identity.services import user_create
from tests.worlds.openid import Provider, asked, openid_provider
from tests.worlds.second_factors import code_of, set_up

pytestmark = pytest.mark.django_db
ADMITTED = ["user.admit", "role.grant", "session.begin"]


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with openid_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: Provider, settings: Any) -> Provider:
    Project.objects.create(name="lab")
    told = running.settings(OIDC_GROUP_ROLES=("lab=lab:member", "chiefs=superuser"))
    settings.KILONOVA = {**settings.KILONOVA, **told}
    return running


def begun(client: Client, target: str = "/instances/") -> str:
    answer = client.get("/login/oidc/", {"next": target})
    assert answer.status_code == 302
    return answer.headers["Location"]


def logged_in(client: Client, provider: Provider, subject: str = "sub-olga", **options: str) -> Any:
    return client.get(provider.come_back(begun(client, **options), subject))


def is_inside(client: Client) -> bool:
    return "_auth_user_id" in client.session


def said(client: Client, answer: Any) -> str:
    assert answer.headers["Location"] == "/login/"
    assert not is_inside(client)
    return client.get("/login/").text


def test_log_in_page_leads_to_the_provider(provider: Provider) -> None:
    page = Client().get("/login/?next=/hosts/").text
    assert 'href="/login/oidc/?next=/hosts/"' in page
    assert "Log in by Example" in page


def test_without_a_provider_there_is_no_such_way() -> None:
    assert "/login/oidc/" not in Client().get("/login/").text
    assert Client().get("/login/oidc/").status_code == 404
    assert Client().get("/login/oidc/callback/").status_code == 404


def test_browser_is_sent_with_state_nonce_and_proof_key(provider: Provider) -> None:
    sent = asked(begun(Client()))
    assert sent["code_challenge_method"] == "S256"
    assert min(len(sent[name]) for name in ("state", "nonce", "code_challenge")) >= 20
    assert sent["redirect_uri"] == "http://testserver/login/oidc/callback/"
    assert sent["response_type"] == "code"


def test_person_becomes_a_user_with_the_roles_of_the_groups(provider: Provider) -> None:
    client = Client()
    answer = logged_in(client, provider)
    assert answer.headers["Location"] == "/instances/"
    olga = User.objects.get(username="olga")
    assert client.session["_auth_user_id"] == str(olga.pk)
    assert (olga.email, olga.has_usable_password()) == ("olga@example.org", False)
    assert list(RoleAssignment.objects.values_list("project__name", "role")) == [("lab", "member")]
    assert list(AuditLogEntry.objects.order_by("occurred_at", "pk").values_list("action", flat=True)) == ADMITTED
    logged_in(Client(), provider)
    assert ExternalIdentity.objects.count() == 1


def test_session_ends_at_its_time_and_not_later_when_it_is_used(provider: Provider, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "OIDC_SESSION_S": 600.0}
    client = Client()
    logged_in(client, provider)
    session = client.session
    assert 0 < session.get_expiry_age() <= 600
    session["used"] = True
    session.save()
    assert session.get_expiry_date() <= client.session.get_expiry_date()
    assert client.session.get_expiry_age() <= 600


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/"])
def test_target_elsewhere_is_not_followed(provider: Provider, target: str) -> None:
    assert logged_in(Client(), provider, target=target).headers["Location"] == "/"


def test_answer_of_another_browser_is_refused(provider: Provider) -> None:
    back = provider.come_back(begun(Client()), "sub-olga")
    victim = Client()
    assert "did not hold" in said(victim, victim.get(back))
    assert not User.objects.exists()


def test_answer_counts_once(provider: Provider) -> None:
    client = Client()
    back = provider.come_back(begun(client), "sub-olga")
    client.get(back)
    client.logout()
    assert "did not hold" in said(client, client.get(back))


def test_nonce_of_another_log_in_is_refused(provider: Provider) -> None:
    client = Client()
    address = begun(client)
    back = provider.come_back(address.replace(asked(address)["nonce"], "another-nonce-altogether"), "sub-olga")
    assert "did not hold" in said(client, client.get(back))


def test_code_of_a_log_in_with_another_proof_key_is_refused(provider: Provider) -> None:
    """A code that somebody else began, with the state of this browser."""
    client = Client()
    session_address, other = begun(client), begun(Client())
    back = provider.come_back(other, "sub-olga").replace(asked(other)["state"], asked(session_address)["state"])
    assert "did not hold" in said(client, client.get(back))


def test_answer_that_names_another_issuer_is_refused(provider: Provider) -> None:
    client = Client()
    back = provider.come_back(begun(client), "sub-olga")
    assert "did not hold" in said(client, client.get(f"{back}&iss=https://evil.example"))


def test_provider_that_calls_itself_otherwise_is_refused(provider: Provider, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "OIDC_ISSUER": f"{provider.issuer}/"}
    client = Client()
    assert "does not answer as it should" in said(client, client.get("/login/oidc/"))


def test_provider_that_is_away_is_said(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "OIDC_ISSUER": "http://127.0.0.1:1", "OIDC_CLIENT_ID": "kilonova"}
    client = Client()
    assert "does not answer as it should" in said(client, client.get("/login/oidc/"))


def test_refusal_at_the_provider_and_person_without_a_name_are_said(provider: Provider) -> None:
    client = Client()
    state = asked(begun(client))["state"]
    assert "did not hold" in said(client, client.get(f"/login/oidc/callback/?error=access_denied&state={state}"))
    assert "did not hold" in said(client, logged_in(client, provider, "sub-nameless"))


def test_user_who_is_kept_here_is_not_taken_over(provider: Provider) -> None:
    user_create(username="Olga", password="correct horse battery")
    client = Client()
    assert "exists here already" in said(client, logged_in(client, provider))
    assert not ExternalIdentity.objects.exists()


def test_user_who_was_switched_off_here_stays_out(provider: Provider) -> None:
    logged_in(Client(), provider)
    User.objects.update(is_active=False)
    client = Client()
    said(client, logged_in(client, provider))


def test_second_factor_is_asked_for_after_the_provider(provider: Provider) -> None:
    logged_in(Client(), provider)
    secret, _ = set_up(User.objects.get(username="olga"))
    client = Client()
    assert logged_in(client, provider).headers["Location"] == "/login/code/"
    assert not is_inside(client)
    answer = client.post("/login/code/", {"code": code_of(secret)})
    assert answer.headers["Location"] == "/instances/"
    assert client.session.get_expiry_age() <= 28800


def test_provider_s_own_second_factor_is_enough_where_that_is_said(provider: Provider, settings: Any) -> None:
    told = {"OIDC_IS_SECOND_FACTOR": True, "SECOND_FACTOR_REQUIRED": "everybody"}
    settings.KILONOVA = {**settings.KILONOVA, **told}
    client = Client()
    assert logged_in(client, provider, "sub-otto").headers["Location"] == "/instances/"
    assert client.get("/").status_code == 200
    assert User.objects.get(username="otto").is_superuser
