"""What an address asks for is read, or refused with its name: nothing in it is passed over.

That no route reads an unknown parameter: tests/architecture/test_query_parameters.py.
"""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
NO_SUCH = "There is no such parameter."
YES_OR_NO = "Write yes or no, true or false, 1 or 0."


@pytest.fixture
def admin() -> APIClient:
    return world.client_of(world.people().admin)


def refusal(client: APIClient, address: str) -> dict[str, list[str]]:
    """The reasons of a 400 by parameter."""
    answer = client.get(address)
    assert answer.status_code == 400, answer.content
    error: dict[str, Any] = answer.json()["error"]
    assert (error["code"], error["field"]) == ("invalid", next(iter(error["reasons"])))
    reasons: dict[str, list[str]] = error["reasons"]
    return reasons


@pytest.mark.parametrize(
    ("address", "reasons"),
    [
        ("/api/hosts/?state=down", {"state": [NO_SUCH]}),
        ("/api/instances/?stauts=ERROR", {"stauts": ["There is no such parameter; there is status."]}),
        ("/api/instances/?limit=1&marker=x", {"limit": [NO_SUCH], "marker": [NO_SUCH]}),
        ("/api/me/?verbose=1", {"verbose": [NO_SUCH]}),
        ("/api/flavors/?=x", {"": [NO_SUCH]}),
        (f"/api/flavors/?{'x' * 500}=1", {"x" * 80: [NO_SUCH]}),
        ("/api/instances/?tag=web&tag=db", {"tag": ["It may be given once."]}),
        ("/api/hosts/?up=down", {"up": [YES_OR_NO]}),
        ("/api/flavors/?disabled=maybe", {"disabled": [YES_OR_NO]}),
        ("/api/flavors/?vcpus=1.5", {"vcpus": ["Enter a whole number."]}),
        ("/api/flavors/?vcpus_min=many", {"vcpus_min": ["Enter a whole number."]}),
        ("/api/instances/?created_after=yesterday", {"created_after": ["Enter a valid date/time."]}),
        ("/api/instances/?all_projects=perhaps", {"all_projects": ["all_projects is yes or no."]}),
        ("/api/flavors/?page=first", {"page": ["page is a whole number from 1."]}),
        ("/api/flavors/?page=0", {"page": ["page is a whole number from 1."]}),
        ("/api/flavors/?page_size=all", {"page_size": ["page_size is a whole number from 1 to 1000."]}),
        ("/api/flavors/?page_size=1001", {"page_size": ["page_size is a whole number from 1 to 1000."]}),
        ("/api/flavors/?page_size=-1", {"page_size": ["page_size is a whole number from 1 to 1000."]}),
        (
            "/api/keypairs/?ordering=-age,name",
            {"ordering": ["Not sorted by -age, but by name, created_at."]},
        ),
    ],
)  # fmt: skip
def test_what_is_not_read_is_refused_with_its_name(
    admin: APIClient, address: str, reasons: dict[str, list[str]]
) -> None:
    assert refusal(admin, address) == reasons


@pytest.mark.parametrize("words", [("0", "no", "False", "off"), ("1", "yes", "TRUE", "on")])
def test_truth_values_are_those_of_settings(admin: APIClient, words: tuple[str, ...]) -> None:
    world.flavor("shown")
    world.flavor("hidden", disabled=True)
    found = [[one["name"] for one in admin.get(f"/api/flavors/?disabled={word}").json()["results"]] for word in words]
    assert found == [["hidden" if words[0] == "1" else "shown"]] * 4


def test_what_is_empty_narrows_nothing(admin: APIClient) -> None:
    world.flavor("shown")
    for query in ("disabled=", "vcpus=", "name=", "ordering=", "page=", "page_size="):
        assert admin.get(f"/api/flavors/?{query}").json()["count"] == 1, query


def test_numbers_beyond_every_column_find_nothing(admin: APIClient) -> None:
    world.flavor("shown")
    assert admin.get("/api/flavors/?vcpus=99999999999999999999").json()["count"] == 0
    assert admin.get("/api/flavors/?vcpus_min=-99999999999999999999").json()["count"] == 1


def test_last_page_and_pages_behind_it(admin: APIClient) -> None:
    world.flavor("shown")
    assert admin.get("/api/flavors/?page=last").json()["count"] == 1
    assert admin.get("/api/flavors/?page=2").status_code == 404
    assert admin.get("/api/flavors/?page=999999999999").status_code == 404


def test_members_are_refused_what_admins_alone_may_ask() -> None:
    """In the same words as anything that is no parameter, and in the same for each value."""
    who = world.people()
    admin, member = world.client_of(who.admin), world.client_of(who.member)
    for address in ("/api/instances/?host=hv-1", "/api/instances/?host=nowhere", "/api/decisions/?host=hv-1"):
        assert refusal(member, address) == {"host": [NO_SUCH]}
    assert "Not sorted by host" in refusal(member, "/api/instances/?ordering=host")["ordering"][0]
    assert admin.get("/api/instances/?host=hv-1&ordering=host").json()["count"] == 0


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nothing_is_done_where_the_address_has_an_unknown_parameter(admin: APIClient, method: str) -> None:
    made = world.flavor("kept")
    path = "/api/flavors/" if method == "post" else f"/api/flavors/{made.pk}/"
    answer = getattr(admin, method)(f"{path}?dry_run=1", {"name": "other", "vcpus": 1, "memory_mib": 1})
    assert (answer.status_code == 400) is (method != "put"), "which is 405"
    assert [one["name"] for one in admin.get("/api/flavors/").json()["results"]] == ["kept"]


def test_strangers_learn_no_names_of_parameters() -> None:
    answer = APIClient().get("/api/hosts/?stat=1")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
    answer = world.client_of(world.people().reader).get("/api/hosts/?stat=1")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


def test_options_say_what_a_route_is_whatever_is_asked(admin: APIClient) -> None:
    assert admin.options("/api/flavors/?x=1").status_code == 200
