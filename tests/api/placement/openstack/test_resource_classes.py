"""Resource classes: the standard catalogue, and custom ones of clients."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.worlds.provider_fleet import error_of, inventories_set, provider_made

Ask = Callable[..., Any]


def test_list_begins_with_the_catalogue_and_ends_with_custom_ones(admin: Ask) -> None:
    admin("PUT", "/resource_classes/CUSTOM_A")
    classes = admin("GET", "/resource_classes").json()["resource_classes"]
    assert classes[0]["name"] == "VCPU"
    assert classes[-1] == {
        "name": "CUSTOM_A",
        "links": [{"rel": "self", "href": "/placement/resource_classes/CUSTOM_A"}],
    }


def test_there_are_no_classes_before_1_2(admin: Ask) -> None:
    assert admin("GET", "/resource_classes", version="1.1").status_code == 404


def test_post_makes_a_class_and_tells_where(admin: Ask) -> None:
    answer = admin("POST", "/resource_classes", body={"name": "CUSTOM_A"})
    assert (answer.status_code, answer.content) == (201, b"")
    assert answer["Location"].endswith("/placement/resource_classes/CUSTOM_A")
    assert admin("GET", "/resource_classes/CUSTOM_A").json()["name"] == "CUSTOM_A"


def test_post_of_a_class_that_is_there_is_a_conflict(admin: Ask) -> None:
    admin("PUT", "/resource_classes/CUSTOM_A")
    assert admin("POST", "/resource_classes", body={"name": "CUSTOM_A"}).status_code == 409


@pytest.mark.parametrize(
    "name", ["VCPU", "CUSTOM_", "CUSTOM_a", "CUSTOM_A\n", "A", "CUSTOM_" + "A" * 249, 5, "CUSTOM_\u2603"]
)
def test_post_of_a_name_that_is_not_custom_is_refused(admin: Ask, name: object) -> None:
    assert admin("POST", "/resource_classes", body={"name": name}).status_code == 400


def test_put_makes_a_class_once(admin: Ask) -> None:
    first = admin("PUT", "/resource_classes/CUSTOM_A", version="1.7")
    again = admin("PUT", "/resource_classes/CUSTOM_A", version="1.7")
    assert (first.status_code, again.status_code) == (201, 204)
    assert again["Location"].endswith("/resource_classes/CUSTOM_A")


def test_put_of_a_standard_class_is_refused(admin: Ask) -> None:
    assert admin("PUT", "/resource_classes/VCPU").status_code == 400


def test_put_renames_before_1_7(admin: Ask) -> None:
    admin("PUT", "/resource_classes/CUSTOM_A")
    answer = admin("PUT", "/resource_classes/CUSTOM_A", version="1.6", body={"name": "CUSTOM_B"})
    assert (answer.status_code, answer.json()["name"]) == (200, "CUSTOM_B")
    assert admin("GET", "/resource_classes/CUSTOM_A").status_code == 404


def test_renamed_class_is_what_a_provider_then_has(admin: Ask) -> None:
    admin("PUT", "/resource_classes/CUSTOM_A")
    uuid = provider_made(admin)
    inventories_set(admin, uuid, CUSTOM_A=3)
    assert len(admin("GET", "/resource_providers?resources=CUSTOM_A:1").json()["resource_providers"]) == 1
    admin("PUT", "/resource_classes/CUSTOM_A", version="1.6", body={"name": "CUSTOM_B"})
    assert len(admin("GET", "/resource_providers?resources=CUSTOM_B:1").json()["resource_providers"]) == 1


@pytest.mark.parametrize(
    ("name", "new", "status"),
    [("VCPU", "CUSTOM_C", 400), ("CUSTOM_A", "CUSTOM_B", 409), ("CUSTOM_X", "CUSTOM_C", 404), ("CUSTOM_A", "C", 400)],
)
def test_rename_that_cannot_be_is_refused(admin: Ask, name: str, new: str, status: int) -> None:
    admin("PUT", "/resource_classes/CUSTOM_A")
    admin("PUT", "/resource_classes/CUSTOM_B")
    answer = admin("PUT", f"/resource_classes/{name}", version="1.6", body={"name": new})
    assert answer.status_code == status


def test_rename_wants_json(admin: Ask) -> None:
    assert admin("PUT", "/resource_classes/CUSTOM_A", version="1.6").status_code == 415


def test_unknown_class_is_not_found(admin: Ask) -> None:
    answer = admin("GET", "/resource_classes/CUSTOM_NONE")
    assert answer.status_code == 404
    assert "CUSTOM_NONE" in error_of(answer)["detail"]
    assert admin("DELETE", "/resource_classes/CUSTOM_NONE").status_code == 404


def test_delete_takes_a_custom_class_away(admin: Ask) -> None:
    admin("PUT", "/resource_classes/CUSTOM_A")
    assert admin("DELETE", "/resource_classes/CUSTOM_A").status_code == 204
    assert admin("GET", "/resource_classes/CUSTOM_A").status_code == 404


def test_standard_class_stays(admin: Ask) -> None:
    assert admin("DELETE", "/resource_classes/VCPU").status_code == 400


def test_class_that_a_provider_has_stays(admin: Ask) -> None:
    admin("PUT", "/resource_classes/CUSTOM_A")
    inventories_set(admin, provider_made(admin), CUSTOM_A=3)
    answer = admin("DELETE", "/resource_classes/CUSTOM_A")
    assert answer.status_code == 409
    assert "in use" in error_of(answer)["detail"]
