"""Images of hosts and of aggregates: the API, the page and the admin's action, and who may use them."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from computeagent.protocol.images import CachedImage
from controlplane.identity.models import User
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from servers.agent_api import conductor_connect
from servers.models import Image, ImageCacheRequest
from tests.worlds import cloud as world
from tests.worlds.agents import code_of, door_agent

pytestmark = pytest.mark.django_db(transaction=True)
SUM = "a" * 64


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", "h2")


@pytest.fixture
def image(who: world.People) -> Image:
    return Image.objects.create(name="<b>cirros", status="active", checksum_sha256=SUM, size_bytes=9)


@pytest.fixture
def url(who: world.People) -> str:
    made = aggregate_create(name="rack-1")
    aggregate_host_add(aggregate_id=made.pk, host="h1")
    return f"/api/aggregates/{made.pk}/images/"


def client_for(person: str, who: world.People) -> APIClient:
    return APIClient() if person == "nobody" else world.client_of(getattr(who, person))


@pytest.mark.parametrize(
    ("person", "read", "write"),
    [("admin", 200, 202), ("member", 403, 403), ("reader", 403, 403), ("stranger", 403, 403), ("nobody", 401, 401)],
)
def test_who_may_read_and_ask(who: world.People, url: str, image: Image, person: str, read: int, write: int) -> None:
    client = client_for(person, who)
    assert client.get(url).status_code == read
    assert client.get("/api/hosts/h1/images/").status_code == read
    body = {"cache": [{"id": str(image.pk)}]}
    assert client.post(url, body, format="json").status_code == write
    assert ImageCacheRequest.objects.count() == (write == 202)


def test_requests_and_images_are_shown(who: world.People, url: str, image: Image) -> None:
    client = world.client_of(who.admin)
    client.post(url, {"cache": [{"id": str(image.pk)}]}, format="json")
    conductor_connect().images_cached(host="h1", images=[CachedImage(SUM, 4096, 60, 2)])

    (request,) = client.get(url).json()["results"]
    assert (request["host"], request["state"], request["image_name"]) == ("h1", "waiting", "<b>cirros")
    found = client.get("/api/hosts/h1/images/").json()
    assert [(one["names"], one["size_bytes"], one["guests"]) for one in found["images"]] == [(["<b>cirros"], 4096, 2)]
    assert [one["image"] for one in found["requests"]] == [str(image.pk)]
    assert client.get("/api/hosts/h9/images/").status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"cache": []}, {"cache": [{"id": "x"}]}, {"cache": [{"name": "x"}]}, {"images": []}, []]
)
def test_body_that_is_none_is_refused_by_its_field(who: world.People, url: str, body: Any) -> None:
    refused = world.client_of(who.admin).post(url, body, format="json")
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "invalid"


def test_unknown_aggregate_and_image(who: world.People, url: str, image: Image) -> None:
    client = world.client_of(who.admin)
    body = {"cache": [{"id": str(image.pk)}]}
    assert client.post(f"/api/aggregates/{uuid.uuid4()}/images/", body, format="json").status_code == 404
    refused = client.post(url, {"cache": [{"id": str(uuid.uuid4())}]}, format="json")
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "cache")


def test_agent_asks_for_its_own_host_only(who: world.People, url: str, image: Image) -> None:
    world.client_of(who.admin).post(url, {"cache": [{"id": str(image.pk)}]}, format="json")
    one, other = door_agent("h1").own(), door_agent("h2").own()
    assert [each.image_id for each in one.tell("images_wanted", host="h1")] == [str(image.pk)]
    assert other.tell("images_wanted", host="h2") == []
    refused = other.ask("wanted_image_chunks", host="h1", image_id=str(image.pk))
    assert refused.status_code == 403
    assert code_of(other.ask("wanted_image_chunks", host="h2", image_id=str(image.pk))) == "not_found"


def test_page_asks_shows_and_refuses(who: world.People, url: str, image: Image) -> None:
    address = url.removeprefix("/api")
    client = Client()
    client.force_login(User.objects.get(pk=who.admin.user_id))
    assert "Nothing was asked for" in client.get(address).text
    asked = client.post(address, {"image": str(image.pk)}, follow=True)
    assert "1 host was asked." in asked.text
    assert "&lt;b&gt;cirros" in asked.text
    assert "<b>cirros" not in asked.text
    assert "Choose an image." in client.post(address, {"image": "x"}).text
    assert "Fetch for rack-1" in client.get("/hosts/h1/").text
    member = Client()
    member.force_login(User.objects.get(pk=who.member.user_id))
    assert member.post(address, {"image": str(image.pk)}).status_code == 403


def test_admin_action_asks_the_hosts_of_the_chosen_aggregate(who: world.People, url: str, image: Image) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser(username="boss", password=world.PASSWORD))
    changelist = reverse("admin:servers_image_changelist")
    sent = {"action": "cache_on_hosts", "_selected_action": [str(image.pk)], "aggregate": ""}
    assert "Choose the aggregate" in client.post(changelist, sent, follow=True).text
    done = client.post(changelist, {**sent, "aggregate": url.split("/")[3]}, follow=True)
    assert done.status_code == 200
    assert ImageCacheRequest.objects.get().host == "h1"
