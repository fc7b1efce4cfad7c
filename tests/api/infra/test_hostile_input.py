"""What no text may have, and bodies that are too large, are refused before anything else is done with them."""

from typing import Any

import pytest
from django.test import Client

from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "path",
    [
        "/api/keypairs/%00/",
        "/api/flavors/a%00b/",
        "/api/hosts/%00/",
        "/hosts/h%001/",
        "/admin/servers/flavor/%00/change/",
    ],
)
def test_nul_in_a_path_names_nothing(path: str) -> None:
    people = world.cloud()
    page = Client()
    page.login(username="root", password=world.PASSWORD)
    answer = world.client_of(people.admin).get(path) if path.startswith("/api/") else page.get(path)
    assert answer.status_code in {404, 302 if path.startswith("/admin/") else 404}


@pytest.mark.parametrize("path", ["/api/capacity/?flavor=a%00b", "/api/hosts/?zone=%00", "/api/decisions/?x%00y=1"])
def test_nul_in_a_query_is_refused_with_its_name(path: str) -> None:
    answer = world.client_of(world.cloud().admin).get(path)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] in {"flavor", "zone", "xy"}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/schedule/simulate/", {"flavor": "a\x00", "image": "demo"}, "flavor"),
        ("/api/projects/", {"name": "a\x00b"}, "name"),
        ("/api/aggregates/", {"name": "a", "metadata": {"x": ["\x00"]}}, "metadata"),
        ("/api/policies/", {"na\x00me": "a"}, "name"),
        ("/api/tokens/", {"username": "\x00", "password": "x"}, "username"),
    ],
)
def test_nul_in_a_body_is_refused_at_its_field(path: str, body: dict[str, Any], field: str) -> None:
    answer = world.client_of(world.cloud().admin).post(path, body, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field


def test_nul_in_a_form_of_a_page_is_refused() -> None:
    world.cloud()
    client = Client()
    client.login(username="root", password=world.PASSWORD)
    answer = client.post("/hosts/h1/act/", {"action": "disable", "reason": "a\x00b"})
    assert answer.status_code == 400
    assert "This cannot be read" in answer.text


def test_body_that_is_too_large_is_a_413_for_anybody() -> None:
    body = '{"username": "' + "x" * (6 * 2**20) + '"}'
    answer = Client().post("/api/tokens/", body, content_type="application/json")
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
