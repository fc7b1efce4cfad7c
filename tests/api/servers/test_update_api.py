"""PATCH of an instance, its metadata items and its tags, over HTTP."""

import uuid

import pytest

from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def test_patch_answers_the_instance_with_its_new_etag(who: world.People) -> None:
    instance = world.active(who.member)
    client, url = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    etag = client.get(url).json()["etag"]
    answer = client.patch(url, {"name": "db", "tags": ["x"], "etag": etag}, format="json")
    body = answer.json()
    assert (answer.status_code, body["name"], body["tags"]) == (200, "db", ["x"])
    assert client.get(url).json()["etag"] == body["etag"] != etag
    listed = client.get("/api/instances/").json()["results"][0]
    assert listed["etag"] == body["etag"]
    late = client.patch(url, {"name": "web", "etag": etag}, format="json")
    assert (late.status_code, late.json()["error"]["field"]) == (409, "etag")


@pytest.mark.parametrize(
    ("body", "field"), [({"name": ""}, "name"), ({"tags": "x"}, "tags"), ({"vm_state": "error"}, "vm_state")]
)
def test_bad_body_names_its_field(who: world.People, body: dict[str, object], field: str) -> None:
    url = f"/api/instances/{world.active(who.member).pk}/"
    answer = world.client_of(who.member).patch(url, body, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


def test_items_and_tags_by_their_own_addresses(who: world.People) -> None:
    instance = world.active(who.member)
    client, url = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    for _ in range(2):
        assert client.put(f"{url}metadata/role of it/", {"value": "db"}, format="json").status_code == 200
        assert client.put(f"{url}tags/caf%C3%A9/").json()["tags"] == ["café"]
    assert client.get(url).json()["metadata"] == {"role of it": "db"}
    for path in ("metadata/role of it/", "tags/caf%C3%A9/"):
        assert [client.delete(url + path).status_code for _ in range(2)] == [204, 404]
    assert client.put(f"{url}tags/a,b/").json()["error"]["field"] == "tags"
    assert client.put(f"{url}metadata/k/", {}, format="json").json()["error"]["field"] == "value"


@pytest.mark.parametrize("value", [5, 1.5, True, None, ["x"], {}])
def test_value_that_is_no_text_is_refused_by_item_as_in_the_whole(who: world.People, value: object) -> None:
    instance = world.active(who.member)
    client, url = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    answers = [
        client.put(f"{url}metadata/k/", {"value": value}, format="json"),
        client.patch(url, {"metadata": {"k": value}}, format="json"),
    ]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert client.get(url).json()["metadata"] == {}


def test_tag_whose_bytes_are_no_text_is_told_from_all_others(who: world.People) -> None:
    instance = world.active(who.member)
    client, url = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    assert "\ufffd" not in client.put(f"{url}tags/caf%E9/").json()["tags"][0]


def test_roles(who: world.People) -> None:
    instance = world.active(who.member)
    url = f"/api/instances/{instance.pk}/"
    for caller, status in ((who.reader, 403), (who.stranger, 404)):
        client = world.client_of(caller)
        answers = [
            client.patch(url, {"name": "db"}, format="json"),
            client.put(f"{url}metadata/k/", {"value": "v"}, format="json"),
            client.delete(f"{url}metadata/k/"),
            client.put(f"{url}tags/x/"),
            client.delete(f"{url}tags/x/"),
        ]
        assert [answer.status_code for answer in answers] == [status] * 5
    missing = f"/api/instances/{uuid.uuid4()}/"
    assert world.client_of(who.admin).patch(missing, {"name": "db"}, format="json").status_code == 404
    assert world.client_of(who.admin).patch(url, {"name": "db"}, format="json").status_code == 200
