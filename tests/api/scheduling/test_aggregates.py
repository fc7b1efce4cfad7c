"""Aggregates through the API."""

import pytest
from rest_framework.test import APIClient

from tests.services.scheduling.fleet.fleet_world import fleet

pytestmark = pytest.mark.django_db


def make(admin: APIClient, **body: object) -> str:
    return str(admin.post("/api/aggregates/", {"name": "rack", **body}).json()["id"])


def test_created_aggregate_is_shown(admin: APIClient) -> None:
    answer = admin.post("/api/aggregates/", {"name": "rack", "availability_zone": "az1", "metadata": {"ssd": "true"}})
    body = answer.json()
    assert (answer.status_code, body["availability_zone"], body["hosts"]) == (201, "az1", [])
    assert body["metadata"] == {"ssd": "true", "availability_zone": "az1"}


def test_hosts_go_in_and_out(admin: APIClient) -> None:
    fleet(1)
    url = f"/api/aggregates/{make(admin)}"
    assert admin.post(f"{url}/add_host/", {"host": "cmp-00"}).json()["hosts"] == ["cmp-00"]
    assert admin.post(f"{url}/remove_host/", {"host": "cmp-00"}).json()["hosts"] == []


def test_second_zone_is_a_conflict_with_both_zones(admin: APIClient) -> None:
    fleet(1)
    first, second = make(admin, availability_zone="az1"), make(admin, name="two", availability_zone="az2")
    admin.post(f"/api/aggregates/{first}/add_host/", {"host": "cmp-00"})
    answer = admin.post(f"/api/aggregates/{second}/add_host/", {"host": "cmp-00"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["zone"], error["wanted_zone"]) == (
        409,
        "zone_conflict",
        "az1",
        "az2",
    )


def test_metadata_is_merged_and_null_removes(admin: APIClient) -> None:
    url = f"/api/aggregates/{make(admin, metadata={'a': '1', 'b': '2'})}"
    assert admin.post(f"{url}/set_metadata/", {"metadata": {"a": None, "c": "3"}}).json()["metadata"] == {
        "b": "2",
        "c": "3",
    }


def test_renamed_aggregate_keeps_its_metadata(admin: APIClient) -> None:
    url = f"/api/aggregates/{make(admin, metadata={'a': '1'})}/"
    body = admin.patch(url, {"name": "new"}).json()
    assert (body["name"], body["metadata"]) == ("new", {"a": "1"})


def test_deleted_aggregate_is_gone(admin: APIClient) -> None:
    url = f"/api/aggregates/{make(admin)}/"
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "x" * 1_000_000}, "name"),
        ({"name": "x", "metadata": ["no"]}, "metadata"),
        ({"name": "x", "availability_zone": "a:b"}, "metadata"),
    ],
)
def test_bad_body_names_its_field_and_writes_nothing(admin: APIClient, body: dict[str, object], field: str) -> None:
    answer = admin.post("/api/aggregates/", body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert admin.get("/api/aggregates/").json()["count"] == 0


def test_body_that_is_not_json_is_refused(admin: APIClient) -> None:
    answer = admin.generic("POST", "/api/aggregates/", "{not json", content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["request_id"][:4]) == (400, "req-")


def test_aggregates_are_filtered_by_host_and_zone(admin: APIClient) -> None:
    fleet(1)
    first = make(admin, availability_zone="az1")
    make(admin, name="two")
    admin.post(f"/api/aggregates/{first}/add_host/", {"host": "cmp-00"})
    for query in ("host=cmp-00", "availability_zone=az1", "name=rack"):
        assert [row["id"] for row in admin.get(f"/api/aggregates/?{query}").json()["results"]] == [first]
