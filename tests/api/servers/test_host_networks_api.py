"""How far a host is with its networks, by API and page: for operators alone."""

import pytest
from django.test import Client

from servers.models import HostNetworkState
from tests.fixtures.remembering import remembered
from tests.worlds import cloud

pytestmark = pytest.mark.django_db(transaction=True)
PROBLEM = {"kind": "router", "id": "r1", "message": "no bridge for <b>public</b>"}


@pytest.fixture
@remembered
def who() -> cloud.People:
    who = cloud.cloud("h1", "h2")
    HostNetworkState.objects.create(host="h1", wanted_revision=5, applied_revision=4, problems=[PROBLEM])
    return who


def test_revisions_and_problems(who: cloud.People) -> None:
    client = cloud.client_of(who.admin)
    found = client.get("/api/hosts/h1/networks/").json()
    assert (found["wanted_revision"], found["applied_revision"], found["problems"]) == (5, 4, [PROBLEM])
    assert client.get("/api/hosts/h2/networks/").json()["wanted_revision"] == 0
    assert client.get("/api/hosts/h9/networks/").status_code == 404


@pytest.mark.parametrize("name", ["member", "reader", "stranger"])
def test_only_operators_read_it(who: cloud.People, name: str) -> None:
    assert cloud.client_of(getattr(who, name)).get("/api/hosts/h1/networks/").status_code == 403


def test_page_says_it_and_escapes_what_a_host_said(who: cloud.People, client: Client) -> None:
    client.login(username="root", password=cloud.PASSWORD)
    page = client.get("/hosts/h1/").content.decode()
    assert "revision 4 in force, 5 wanted" in page
    assert "no bridge for &lt;b&gt;public&lt;/b&gt;" in page
    assert "none of ours" in client.get("/hosts/h2/").content.decode()
