"""Letting a hypervisor in by a page, and locking its agent out."""

import html
import re
import shlex
from collections.abc import Callable

import pytest
from django.test import Client

from computeagent.protocol.wire import secret_digest
from controlplane.identity.domain import Caller
from controlplane.identity.domain.token import token_digest
from scheduling.fleet.services.service_states import service_force_down
from servers.agent_api.credentials import (
    agent_version_refused,
    credential_host,
    credential_set,
    enrolment_create,
    enrolment_redeem,
)
from servers.models import AgentEnrolment
from tests.worlds.cloud import People, host

AsPerson = Callable[[Caller], Client]
DIGEST = secret_digest("kna_one")


def test_page_shows_the_command_with_its_token_this_once(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    assert 'href="/hosts/add/"' in client.get("/hosts/").text
    shown = client.post("/hosts/add/", {"host": " cmp-7 "})
    found = re.search(r"<pre[^>]*>(.*?)</pre>", shown.text, re.DOTALL)
    assert found is not None
    words = shlex.split(html.unescape(found[1]))
    row = AgentEnrolment.objects.get()
    assert (row.host, row.created_by_id) == ("cmp-7", people.admin.user_id)
    assert row.digest == token_digest(words[words.index("--enrol-token") + 1])
    assert shown.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    assert "kn_" not in client.get("/hosts/add/").text


@pytest.mark.parametrize("host", ["", "a b", "x" * 93, "<b>"])
def test_name_that_is_none_is_refused_in_the_form(people: People, as_person: AsPerson, host: str) -> None:
    shown = as_person(people.admin).post("/hosts/add/", {"host": host})
    assert shown.status_code == 200
    assert "is no name for a host" in shown.text
    assert not AgentEnrolment.objects.exists()


def test_name_that_differs_in_capitals_alone_is_refused_in_the_form(people: People, as_person: AsPerson) -> None:
    host("hv-1")
    answer = as_person(people.admin).post("/hosts/add/", {"host": "HV-1"})
    assert answer.status_code == 200
    assert "differs from it in capitals alone" in answer.content.decode()


def test_host_page_tells_of_the_secret_and_revokes_it(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    assert "Revoke…" not in client.get("/hosts/h1/").text
    credential_set(host="h1", secret_digest=DIGEST)
    page = client.get("/hosts/h1/").text
    assert "Revoke…" in page
    assert DIGEST not in page
    done = client.post("/hosts/h1/revoke/", follow=True)
    assert "The agent of h1 is locked out" in done.text
    assert "Revoke…" not in done.text
    assert credential_host(DIGEST) is None


def test_the_page_of_the_command_says_how_far_the_host_is(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    path = "/hosts/add/arrival/?host=cmp-7"

    assert path in client.post("/hosts/add/", {"host": "cmp-7"}).text
    assert "Waiting for the agent of cmp-7 to enrol." in client.get(path).text
    credential_set(host="cmp-7", secret_digest=DIGEST)
    assert "its agent has not registered the hypervisor yet" in client.get(path).text
    host("cmp-7")
    there = client.get(path)
    assert (there.status_code, "cmp-7 is up." in there.text) == (286, True)
    service_force_down(host="cmp-7", forced_down=True)
    assert "its agent reports nothing" in client.get(path).text
    assert client.get("/hosts/add/arrival/?host=%00").status_code == 200


def test_host_that_is_enrolled_again_is_waited_for_although_its_agent_of_before_lives(
    people: People, as_person: AsPerson
) -> None:
    client, path = as_person(people.admin), "/hosts/add/arrival/?host=cmp-7"
    credential_set(host="cmp-7", secret_digest=DIGEST)
    host("cmp-7")
    token = enrolment_create(host="cmp-7").token
    waits = client.get(path)
    assert (waits.status_code, "Waiting for the agent of cmp-7 to enrol." in waits.text) == (200, True)
    enrolment_redeem(host="cmp-7", token=token, secret_digest=secret_digest("kna_new"))
    there = client.get(path)
    assert (there.status_code, "cmp-7 is up." in there.text) == (286, True)


def test_hosts_say_why_their_agent_is_locked_out(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    credential_set(host="h1", secret_digest=DIGEST)
    assert "locked out" not in client.get("/hosts/").text
    agent_version_refused(secret_digest=DIGEST, version="7")
    for path in ("/hosts/", "/hosts/h1/"):
        shown = client.get(path).text
        assert "locked out" in shown
        assert "it speaks version 7 of the agents" in shown
    client.post("/hosts/h1/revoke/")
    assert "The secret of its agent was revoked" in client.get("/hosts/").text
    assert "locked out" not in client.get("/hosts/h2/").text
