"""A router is moved to another host by administrators, on its page, or they read why not."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from servers.models import Router
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from tests.worlds.cloud import People
from tests.worlds.routing import carrying_host, inside, outside

AsPerson = Callable[[Caller], Client]


@pytest.fixture(autouse=True)
def carried(settings: Any) -> None:
    """Projects' networks are of bridges."""
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}


@pytest.fixture
def router(people: People) -> Router:
    """On h3, with h4 that could have it, and h5 that could not."""
    carrying_host("h3", "physnet1")
    public, subnet = outside(), inside(people.member, "10.1.0.0/24", "blue")
    made: Router = router_create(caller=people.member, name="edge", external_network=public.pk)
    router_interface_add(caller=people.member, router_id=made.pk, subnet_id=subnet.pk)
    carrying_host("h4", "physnet1")
    carrying_host("h5")
    Router.objects.update(host="h3")
    return made


def test_an_administrator_moves_a_router(people: People, as_person: AsPerson, router: Router) -> None:
    client, address = as_person(people.admin), f"/routers/{router.pk}/"
    form = client.get(address).context["move"]
    assert [name for name, _ in form.fields["host"].choices] == ["", "h1", "h2", "h4", "h5"]
    for host, said in (
        ("h5", "none has a bridge to physnet1"),
        ("h1", "none carries networks of bridges"),
        ("h3", "Select a valid choice"),
    ):
        refused = client.post(f"{address}move/", {"host": host})
        assert (refused.status_code, "It was not moved." in refused.text) == (200, True)
        assert said in " ".join(refused.context["move"].errors["host"])
    assert Router.objects.get().host == "h3"
    assert client.post(f"{address}move/", {"host": "h4"}).headers["Location"] == address
    row = Router.objects.get()
    assert (row.host, "An administrator moved it away from h3" in row.host_reason) == ("h4", True)
    assert "edge lives on h4 now." in client.get(address).text
    client.post(f"{address}move/")
    assert Router.objects.get().host == "h3", "the best of the others"


def test_nobody_else_moves_one(people: People, as_person: AsPerson, router: Router) -> None:
    address = f"/routers/{router.pk}/"
    for person in (people.member, people.reader, people.stranger):
        assert as_person(person).post(f"{address}move/", {"host": "h4"}).status_code == 403
    assert Router.objects.get().host == "h3"
    assert f"{address}move/" not in as_person(people.member).get(address).text
    assert as_person(people.admin).get(f"{address}move/").status_code == 405


def test_one_that_no_host_has_is_not_offered_and_not_moved(people: People, as_person: AsPerson) -> None:
    lone, client = router_create(caller=people.member, name="lone"), as_person(people.admin)
    assert client.get(f"/routers/{lone.pk}/").context["move"] is None
    refused = client.post(f"/routers/{lone.pk}/move/")
    assert "it lives on no single host" in " ".join(refused.context["move"].errors["host"])
