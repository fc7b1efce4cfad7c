"""The name and the description of a subnet: in its forms, on its network's page, and in what the API is told."""

import json
import shlex
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from servers.models import Subnet
from tests.worlds.cloud import People, client_of
from tests.worlds.routing import inside

AsPerson = Callable[[Caller], Client]


@pytest.fixture(autouse=True)
def carried(settings: Any) -> None:
    """Projects' networks are of bridges."""
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}


def test_a_subnet_has_a_name_and_a_description(people: People, as_person: AsPerson) -> None:
    client, subnet = as_person(people.member), inside(people.member, "10.1.0.0/24", "blue")
    address = f"/subnets/{subnet.pk}/edit/"
    form = {"gateway": "10.1.0.1", "has_dhcp": "on"}
    for name in ("name", "description"):
        refused = client.post(address, {**form, name: "x" * 256})
        assert "at most 255" in " ".join(refused.context["form"].errors[name])
    assert client.post(address, {**form, "name": "front", "description": "Behind the wall"}).status_code == 302
    subnet.refresh_from_db()
    assert (subnet.name, subnet.description) == ("front", "Behind the wall")
    page = client.get(f"/networks/{subnet.network_id}/").text
    assert ">front</span>" in page
    assert ">Behind the wall</span>" in page
    assert 'value="front"' in client.get(address).text


def test_the_form_of_a_network_names_the_network_alone(people: People, as_person: AsPerson) -> None:
    made = {"name": "green", "description": "Ours", "cidr": "10.7.0.0/24"}
    assert as_person(people.member).post("/networks/new/", made).status_code == 302
    subnet = Subnet.objects.get(cidr="10.7.0.0/24")
    assert (subnet.name, subnet.description, subnet.network.name) == ("", "", "green")


def test_the_call_of_a_new_subnets_form_makes_it(people: People, as_person: AsPerson) -> None:
    network_id = inside(people.member, "10.1.0.0/24", "blue").network_id
    typed = {"cidr": "10.2.0.0/24", "name": "second", "pools": "10.2.0.5 10.2.0.9", "has_dhcp": "on", "tags": "a"}
    answer = as_person(people.member).post("/as-curl/", {**typed, "as_curl_of": f"/networks/{network_id}/subnets/new/"})
    made = client_of(people.member).post("/api/subnets/", json.loads(shlex.split(unescape(answer.text))[-1]))
    assert made.status_code == 201, made.text
    assert (made.json()["network"], made.json()["name"]) == (str(network_id), "second")
    assert made.json()["pools"] == [{"first": "10.2.0.5", "last": "10.2.0.9"}]
