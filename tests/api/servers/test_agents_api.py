"""/api/hosts/enrolments/ and /api/agents/: who may, what is told, and what is never told."""

import re
import shlex
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import URLResolver, get_resolver
from rest_framework.test import APIClient

from computeagent.protocol.wire import secret_digest
from controlplane.identity.domain.token import token_digest
from controlplane.infra.db import db_now
from servers.agent_api.credentials import credential_host, credential_set, enrolment_create, enrolments_prune
from servers.hosts.domain.host_names import RESERVED
from servers.models import AgentCredential, AgentEnrolment
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = secret_digest("kna_one")


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1")


def client_for(person: str, who: world.People) -> APIClient:
    return APIClient() if person == "nobody" else world.client_of(getattr(who, person))


@pytest.mark.parametrize(
    ("person", "status"), [("admin", 201), ("member", 403), ("reader", 403), ("stranger", 403), ("nobody", 401)]
)
def test_who_may_enrol(who: world.People, person: str, status: int) -> None:
    answer = client_for(person, who).post("/api/hosts/enrolments/", {"host": "cmp-7"}, format="json")
    assert answer.status_code == status, answer.content
    assert AgentEnrolment.objects.count() == (1 if status == 201 else 0)


def test_token_is_told_once_and_stored_as_a_digest(who: world.People) -> None:
    told = client_for("admin", who).post("/api/hosts/enrolments/", {"host": "cmp-7"}, format="json").json()
    row = AgentEnrolment.objects.get()
    assert (row.host, row.digest, row.created_by_id) == ("cmp-7", token_digest(told["token"]), who.admin.user_id)
    assert told["token"] not in str(vars(row))
    words = shlex.split(told["command"])
    assert words[words.index("--control-plane") + 1] == "http://testserver"
    assert words[words.index("--enrol-token") + 1] == told["token"]


def test_records_of_tokens_are_kept_for_a_year(who: world.People) -> None:
    enrolment_create(host="old")
    AgentEnrolment.objects.update(expires_at=db_now() - timedelta(days=366))
    enrolment_create(host="new")
    AgentEnrolment.objects.filter(host="new").update(expires_at=db_now() - timedelta(days=364))
    assert enrolments_prune() == 1
    assert AgentEnrolment.objects.get().host == "new"


@pytest.mark.parametrize("body", [{}, {"host": ""}, {"host": "a b"}, {"host": "x" * 93}, {"host": "h", "more": 1}])
def test_bad_bodies_name_the_field(who: world.People, body: dict[str, object]) -> None:
    answer = client_for("admin", who).post("/api/hosts/enrolments/", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] in {"host", "more"}
    assert not AgentEnrolment.objects.exists()


@pytest.mark.parametrize(
    ("person", "status"), [("admin", 200), ("member", 403), ("reader", 403), ("stranger", 403), ("nobody", 401)]
)
def test_who_may_see_and_revoke(who: world.People, person: str, status: int) -> None:
    credential_set(host="h1", secret_digest=SECRET)
    client = client_for(person, who)
    listed = client.get("/api/agents/")
    assert listed.status_code == status
    assert SECRET not in listed.content.decode()
    assert client.post("/api/agents/h1/revoke/").status_code == status
    assert credential_host(SECRET) == (None if status == 200 else "h1")


def test_revoking_what_is_not_there_is_not_found(who: world.People) -> None:
    assert client_for("admin", who).post("/api/agents/h9/revoke/").status_code == 404


def test_revoking_a_token_that_nobody_used_says_that_there_is_no_secret(who: world.People) -> None:
    enrolment_create(host="h9")
    answer = client_for("admin", who).post("/api/agents/h9/revoke/")
    assert (answer.status_code, answer.json()["host"], answer.json()["enrolled_at"]) == (200, "h9", None)
    assert not AgentEnrolment.objects.filter(expires_at__gt=db_now()).exists()
    assert client_for("admin", who).get("/api/agents/").json()["count"] == 0


def test_agents_are_found_by_host(who: world.People) -> None:
    for host in ("h1", "h2"):
        credential_set(host=host, secret_digest=secret_digest(f"kna_{host}"))
    (row,) = client_for("admin", who).get("/api/agents/?host=h2").json()["results"]
    assert row["host"] == "h2"


@pytest.mark.parametrize("url", ["ftp://x", "kilonova.example.org", "https://a:b@kilonova.example.org"])
def test_command_is_not_printed_with_an_address_that_no_agent_takes(who: world.People, url: str) -> None:
    with pytest.raises(CommandError, match=r"no address such as|no name and no password"):
        call_command("agent_enrol", "--host", "cmp-7", "--url", url)
    assert not AgentEnrolment.objects.exists()


def test_command_says_that_an_enrolled_host_gets_another_secret(
    who: world.People, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("agent_enrol", "--host", "cmp-7")
    assert "has an agent" not in capsys.readouterr().err
    credential_set(host="cmp-7", secret_digest=SECRET)
    call_command("agent_enrol", "--host", "cmp-7")
    assert "Host cmp-7 has an agent already: its secret ends when the token is used." in capsys.readouterr().err


def test_revoked_secret_is_listed_with_who_did_it(who: world.People) -> None:
    credential_set(host="h1", secret_digest=SECRET)
    client = client_for("admin", who)
    client.post("/api/agents/h1/revoke/")
    (row,) = client.get("/api/agents/").json()["results"]
    assert row["host"] == "h1"
    assert row["revoked_at"]
    assert row["revoked_by_id"] == str(who.admin.user_id)
    assert client.post("/api/agents/h1/revoke/").status_code == 404


def test_no_host_is_called_like_another_page_or_resource(who: world.People) -> None:
    """Each address below `hosts/` that is no host's is a name that is refused."""
    found = set()

    def look(resolver: URLResolver, before: str) -> None:
        for one in resolver.url_patterns:
            path = before + re.sub(r"[\^$]|\\Z", "", str(one.pattern))
            if isinstance(one, URLResolver):
                look(one, path)
            elif taken := re.fullmatch(r"(?:api/)?hosts/([a-z_-]+)/?(?:[^<(]*)", path):
                found.add(taken.group(1))

    look(get_resolver(), "")
    assert {"add", "map", "versions", "enrolments"} <= found
    assert found <= RESERVED, found - RESERVED
    answer = client_for("admin", who).post("/api/hosts/enrolments/", {"host": "enrolments"}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "host")


def test_admin_site_revokes_after_asking(who: world.People) -> None:
    from django.test import Client

    from controlplane.identity.models import User

    credential_set(host="h1", secret_digest=SECRET)
    User.objects.filter(pk=who.admin.user_id).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=who.admin.user_id))
    page = "/admin/servers/agentcredential/"
    row = AgentCredential.objects.get()
    chosen = {"action": "revoke", "_selected_action": [str(row.pk)]}
    asked = client.post(page, chosen)
    assert "locked out at once" in asked.content.decode()
    assert credential_host(SECRET) == "h1"
    assert SECRET not in client.get(f"{page}{row.pk}/change/").content.decode()
