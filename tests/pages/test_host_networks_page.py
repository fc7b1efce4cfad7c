"""What a host lacks to carry networks, on its page and in the API."""

from collections.abc import Callable

from django.test import Client

from controlplane.identity.domain import Caller
from tests.worlds.cloud import People, host

AsPerson = Callable[[Caller], Client]
LACK = "this host cannot keep security groups on bridges: <b>no br_netfilter</b>"


def test_host_that_carries_no_networks_says_why(people: People, as_person: AsPerson) -> None:
    host("h1", networks_lack=LACK)

    client = as_person(people.admin)
    page = client.get("/hosts/h1/").text

    assert 'id="networks-lack"' in page
    assert "cannot keep security groups on bridges: &lt;b&gt;no br_netfilter" in page
    assert client.get("/api/hosts/h1/").json()["networks_lack"] == LACK


def test_host_that_lacks_nothing_has_no_notice(people: People, as_person: AsPerson) -> None:
    host("h1", networks_lack=LACK)
    host("h1")

    assert 'id="networks-lack"' not in as_person(people.admin).get("/hosts/h1/").text
