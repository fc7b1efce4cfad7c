"""Resource providers one by one: made, shown, renamed, moved in their tree, deleted."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.worlds.provider_fleet import (
    error_of,
    generation_of,
    inventories_set,
    provider_made,
    provider_of,
)

# Spelled out, so that the names of the tests are the same in every process.
NOBODY = "3f1c9f0a-6f0e-4f43-9d7c-2b9c1f0d5e77"

Ask = Callable[..., Any]


def test_post_answers_with_the_provider_since_1_20(admin: Ask) -> None:
    uuid = str(uuid4())
    answer = admin("POST", "/resource_providers", body={"name": "host-a", "uuid": uuid})
    shown = answer.json()
    assert answer.status_code == 200
    assert answer["Location"].endswith(f"/placement/resource_providers/{uuid}")
    assert (shown["uuid"], shown["generation"], shown["root_provider_uuid"]) == (uuid, 0, uuid)
    assert shown["parent_provider_uuid"] is None


def test_post_answers_with_nothing_before_1_20(admin: Ask) -> None:
    answer = admin("POST", "/resource_providers", version="1.19", body={"name": "host-a"})
    assert (answer.status_code, answer.content) == (201, b"")
    assert "/placement/resource_providers/" in answer["Location"]


def test_uuid_may_come_without_dashes(admin: Ask) -> None:
    uuid = uuid4()
    admin("POST", "/resource_providers", body={"name": "host-a", "uuid": uuid.hex})
    assert provider_of(admin, str(uuid))["uuid"] == str(uuid)


@pytest.mark.parametrize(
    ("version", "rels"),
    [
        ("1.0", ["self", "inventories", "usages"]),
        ("1.1", ["self", "inventories", "usages", "aggregates"]),
        ("1.6", ["self", "inventories", "usages", "aggregates", "traits"]),
        ("1.11", ["self", "inventories", "usages", "aggregates", "traits", "allocations"]),
    ],
)
def test_links_grow_with_the_version(admin: Ask, version: str, rels: list[str]) -> None:
    uuid = provider_made(admin)
    shown = admin("GET", f"/resource_providers/{uuid}", version=version).json()
    assert [link["rel"] for link in shown["links"]] == rels
    assert shown["links"][1]["href"] == f"/placement/resource_providers/{uuid}/inventories"
    assert "root_provider_uuid" not in shown


def test_last_modified_is_when_the_provider_changed(admin: Ask) -> None:
    uuid = provider_made(admin)
    first = admin("GET", f"/resource_providers/{uuid}")["Last-Modified"]
    assert admin("GET", "/resource_providers")["Last-Modified"] == first


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "x" * 201},
        {"name": "a", "uuid": "pony"},
        {"name": "a", "colour": "red"},
        {"name": 5},
        {"name": "a", "parent_provider_uuid": 3},
    ],
)
def test_post_of_what_is_no_provider_is_refused(admin: Ask, body: dict[str, object]) -> None:
    assert admin("POST", "/resource_providers", body=body).status_code == 400


def test_parent_is_unknown_before_1_14(admin: Ask) -> None:
    body = {"name": "a", "parent_provider_uuid": provider_made(admin)}
    assert admin("POST", "/resource_providers", version="1.13", body=body).status_code == 400


def test_name_is_given_once(admin: Ask) -> None:
    provider_made(admin, "host-a")
    answer = admin("POST", "/resource_providers", body={"name": "host-a"})
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.duplicate_name"
    assert "name: host-a already exists" in error_of(answer)["detail"]


def test_uuid_is_given_once(admin: Ask) -> None:
    uuid = provider_made(admin)
    answer = admin("POST", "/resource_providers", body={"name": "another", "uuid": uuid})
    assert answer.status_code == 409
    assert f"uuid: {uuid}" in error_of(answer)["detail"]


def test_child_has_the_root_of_its_parent(admin: Ask) -> None:
    root = provider_made(admin)
    child = provider_made(admin, parent_provider_uuid=root)
    grandchild = provider_made(admin, parent_provider_uuid=child)
    shown = provider_of(admin, grandchild)
    assert (shown["parent_provider_uuid"], shown["root_provider_uuid"]) == (child, root)


def test_parent_that_is_not_there_is_refused(admin: Ask) -> None:
    answer = admin("POST", "/resource_providers", body={"name": "a", "parent_provider_uuid": str(uuid4())})
    assert answer.status_code == 400
    assert "parent provider UUID does not exist" in error_of(answer)["detail"]


def test_nobody_is_born_as_the_own_parent(admin: Ask) -> None:
    uuid = str(uuid4())
    answer = admin("POST", "/resource_providers", body={"name": "a", "uuid": uuid, "parent_provider_uuid": uuid})
    assert answer.status_code == 400
    assert "parent provider UUID cannot be same as UUID" in error_of(answer)["detail"]


def test_put_renames_and_leaves_place_and_generation(admin: Ask) -> None:
    root = provider_made(admin)
    child = provider_made(admin, parent_provider_uuid=root)
    answer = admin("PUT", f"/resource_providers/{child}", body={"name": "renamed \u2603"})
    shown = answer.json()
    assert answer.status_code == 200
    assert (shown["name"], shown["parent_provider_uuid"], shown["generation"]) == ("renamed \u2603", root, 0)


def test_put_of_a_name_that_is_taken_is_a_conflict(admin: Ask) -> None:
    provider_made(admin, "host-a")
    other = provider_made(admin, "host-b")
    answer = admin("PUT", f"/resource_providers/{other}", body={"name": "host-a"})
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.duplicate_name"


def test_put_of_a_provider_that_is_not_there_is_not_found_whatever_the_body(admin: Ask) -> None:
    assert admin("PUT", f"/resource_providers/{uuid4()}", body={"name": "a"}).status_code == 404
    assert admin("PUT", f"/resource_providers/{uuid4()}", body={"pony": 1}).status_code == 404


def moved(admin: Ask, uuid: str, parent: str | None, version: str) -> Any:
    body = {"name": f"host-{uuid}", "parent_provider_uuid": parent}
    return admin("PUT", f"/resource_providers/{uuid}", version=version, body=body)


def test_parent_is_set_once_before_1_37(admin: Ask) -> None:
    first, second, child = (provider_made(admin) for _ in range(3))
    assert moved(admin, child, first, "1.14").status_code == 200
    assert moved(admin, child, first, "1.36").status_code == 200
    answer = moved(admin, child, second, "1.36")
    assert answer.status_code == 400
    assert "re-parenting a provider is not currently allowed" in error_of(answer)["detail"]


def test_parent_is_not_taken_off_before_1_37(admin: Ask) -> None:
    child = provider_made(admin, parent_provider_uuid=provider_made(admin))
    answer = moved(admin, child, None, "1.36")
    assert answer.status_code == 400
    assert "un-parenting a provider is not currently allowed" in error_of(answer)["detail"]


def test_move_takes_all_that_is_below_along(admin: Ask) -> None:
    first, second = provider_made(admin), provider_made(admin)
    child = provider_made(admin, parent_provider_uuid=first)
    grandchild = provider_made(admin, parent_provider_uuid=child)
    assert moved(admin, child, second, "1.37").json()["root_provider_uuid"] == second
    assert provider_of(admin, grandchild)["root_provider_uuid"] == second
    tree = admin("GET", f"/resource_providers?in_tree={second}").json()["resource_providers"]
    assert {shown["uuid"] for shown in tree} == {second, child, grandchild}


def test_provider_without_a_parent_is_a_root_again(admin: Ask) -> None:
    first = provider_made(admin)
    child = provider_made(admin, parent_provider_uuid=first)
    grandchild = provider_made(admin, parent_provider_uuid=child)
    shown = moved(admin, child, None, "1.37").json()
    assert (shown["parent_provider_uuid"], shown["root_provider_uuid"]) == (None, child)
    assert provider_of(admin, grandchild)["root_provider_uuid"] == child


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_loop_is_refused(admin: Ask, depth: int) -> None:
    line = [provider_made(admin)]
    for _ in range(2):
        line.append(provider_made(admin, parent_provider_uuid=line[-1]))
    answer = moved(admin, line[0], line[depth], "1.37")
    assert answer.status_code == 400
    assert "creating loop in the provider tree is not allowed" in error_of(answer)["detail"]


def test_delete_takes_a_provider_with_its_inventories_away(admin: Ask) -> None:
    uuid = provider_made(admin)
    inventories_set(admin, uuid, VCPU=4)
    assert admin("DELETE", f"/resource_providers/{uuid}").status_code == 204
    assert admin("GET", f"/resource_providers/{uuid}").status_code == 404


def test_parent_stays_while_it_has_children(admin: Ask) -> None:
    root = provider_made(admin)
    provider_made(admin, parent_provider_uuid=root)
    answer = admin("DELETE", f"/resource_providers/{root}")
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.resource_provider.cannot_delete_parent"


def test_provider_stays_while_somebody_holds_of_it(admin: Ask) -> None:
    uuid = provider_made(admin)
    inventories_set(admin, uuid, VCPU=4)
    body = {
        "allocations": {uuid: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    assert admin("PUT", f"/allocations/{uuid4()}", body=body).status_code == 204
    answer = admin("DELETE", f"/resource_providers/{uuid}")
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.resource_provider.inuse"
    assert generation_of(admin, uuid) == 2


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("uuid", [NOBODY, "pony"])
def test_provider_that_is_not_there_is_not_found(admin: Ask, method: str, uuid: str) -> None:
    answer = admin(method, f"/resource_providers/{uuid}")
    assert answer.status_code == 404
    assert f"No resource provider with uuid {uuid} found" in error_of(answer)["detail"]


def test_nul_character_is_refused_wherever_it_stands(admin: Ask) -> None:
    assert admin("POST", "/resource_providers", body={"name": "a\0b"}).status_code == 400
    assert admin("GET", "/resource_providers?name=a%00b").status_code == 400
    assert admin("GET", "/traits/CUSTOM_%00").status_code == 404


def test_show_costs_one_query(admin: Ask, django_assert_num_queries: Callable[[int], Any]) -> None:
    uuid = provider_made(admin)
    with django_assert_num_queries(1):
        assert admin("GET", f"/resource_providers/{uuid}").status_code == 200
