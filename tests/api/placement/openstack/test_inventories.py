"""The inventories of a provider: their numbers, and the generation that each change moves."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.worlds.provider_fleet import error_of, generation_of, inventories_set, provider_made

Ask = Callable[..., Any]
DEFAULTS = {"reserved": 0, "min_unit": 1, "max_unit": 2147483647, "step_size": 1, "allocation_ratio": 1.0}


@pytest.fixture
def host(admin: Ask) -> str:
    """A provider without anything; its path."""
    return f"/resource_providers/{provider_made(admin)}"


def uuid_of(host: str) -> str:
    return host.rpartition("/")[2]


def held(admin: Ask, host: str, **amounts: int) -> str:
    """A consumer that holds so much of the provider."""
    consumer = str(uuid4())
    body = {
        "allocations": {uuid_of(host): {"resources": amounts}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    assert admin("PUT", f"/allocations/{consumer}", body=body).status_code == 204
    return consumer


def test_new_provider_has_none(admin: Ask, host: str) -> None:
    answer = admin("GET", f"{host}/inventories")
    assert answer.json() == {"resource_provider_generation": 0, "inventories": {}}


def test_post_states_a_class_with_defaults(admin: Ask, host: str) -> None:
    answer = admin("POST", f"{host}/inventories", body={"resource_class": "VCPU", "total": 4})
    assert answer.status_code == 201
    assert answer["Location"].endswith(f"{host}/inventories/VCPU")
    assert answer.json() == {"total": 4, **DEFAULTS, "resource_provider_generation": 1}
    assert admin("GET", f"{host}/inventories/VCPU").json() == answer.json()


def test_post_does_not_look_at_the_generation_it_is_told(admin: Ask, host: str) -> None:
    body = {"resource_class": "VCPU", "total": 4, "resource_provider_generation": 77}
    assert admin("POST", f"{host}/inventories", body=body).status_code == 201


def test_post_of_a_class_that_is_there_is_a_conflict(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    answer = admin("POST", f"{host}/inventories", body={"resource_class": "VCPU", "total": 4})
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.concurrent_update"


def test_post_of_an_unknown_class_is_refused_and_does_not_make_it(admin: Ask, host: str) -> None:
    answer = admin("POST", f"{host}/inventories", body={"resource_class": "CUSTOM_NEW", "total": 4})
    assert answer.status_code == 400
    assert "No such resource class CUSTOM_NEW" in error_of(answer)["detail"]
    assert admin("GET", "/resource_classes/CUSTOM_NEW").status_code == 404


@pytest.mark.parametrize(
    "more",
    [
        {"total": 0},
        {"total": 2**31},
        {"total": "4"},
        {"total": True},
        {"reserved": -1},
        {"min_unit": 0},
        {"max_unit": 0},
        {"step_size": 0},
        {"allocation_ratio": 3.5e38},
        {"allocation_ratio": -1.0},
        {"resource_class": "vcpu"},
        {"colour": "red"},
    ],
)
def test_numbers_beyond_their_range_are_refused(admin: Ask, host: str, more: dict[str, object]) -> None:
    body = {"resource_class": "VCPU", "total": 4, **more}
    assert admin("POST", f"{host}/inventories", body=body).status_code == 400


def test_largest_ratio_is_kept(admin: Ask, host: str) -> None:
    body = {"resource_class": "VCPU", "total": 2**31 - 1, "allocation_ratio": 3.4e38}
    assert admin("POST", f"{host}/inventories", body=body).status_code == 201


@pytest.mark.parametrize(
    ("version", "reserved", "status", "words"),
    [
        ("1.25", 3, 201, ""),
        ("1.25", 4, 400, "greater than or equal to total"),
        ("1.26", 4, 201, ""),
        ("1.26", 5, 400, "greater than total"),
    ],
)
def test_all_may_be_reserved_since_1_26(
    admin: Ask, host: str, version: str, reserved: int, status: int, words: str
) -> None:
    body = {"resource_class": "VCPU", "total": 4, "reserved": reserved}
    answer = admin("POST", f"{host}/inventories", version=version, body=body)
    assert answer.status_code == status
    assert words in answer.content.decode()


def test_put_makes_them_all(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4, DISK_GB=10)
    body = {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 64}}}
    answer = admin("PUT", f"{host}/inventories", body=body)
    assert answer.json()["resource_provider_generation"] == 2
    assert answer.json()["inventories"] == {"VCPU": {"total": 8, **DEFAULTS}, "MEMORY_MB": {"total": 64, **DEFAULTS}}
    assert admin("GET", f"{host}/inventories").json() == answer.json()


def test_put_of_the_same_moves_the_generation(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    inventories_set(admin, uuid_of(host), VCPU=4)
    assert generation_of(admin, uuid_of(host)) == 2


def test_put_at_another_generation_is_a_conflict_before_its_numbers_are_judged(admin: Ask, host: str) -> None:
    body = {"resource_provider_generation": 5, "inventories": {"VCPU": {"total": 4, "reserved": 9}}}
    answer = admin("PUT", f"{host}/inventories", body=body)
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.concurrent_update"
    assert "resource provider generation conflict" in error_of(answer)["detail"]


@pytest.mark.parametrize("name", ["CUSTOM_NEW", "pony"])
def test_put_of_an_unknown_class_is_refused(admin: Ask, host: str, name: str) -> None:
    body = {"resource_provider_generation": 0, "inventories": {name: {"total": 4}}}
    answer = admin("PUT", f"{host}/inventories", body=body)
    assert answer.status_code == 400
    assert "Unknown resource class in inventory" in error_of(answer)["detail"]


def test_put_that_leaves_out_what_is_used_is_a_conflict(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4, MEMORY_MB=64)
    held(admin, host, VCPU=1, MEMORY_MB=1)
    body = {"resource_provider_generation": 2, "inventories": {}}
    answer = admin("PUT", f"{host}/inventories", body=body)
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.inventory.inuse"
    assert "Inventory for 'VCPU, MEMORY_MB' on resource provider" in error_of(answer)["detail"]


def test_put_may_go_below_what_is_used(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    held(admin, host, VCPU=3)
    inventories_set(admin, uuid_of(host), VCPU=2)
    assert admin("GET", f"{host}/usages").json()["usages"] == {"VCPU": 3}


def test_put_one_states_it_anew(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4, MEMORY_MB=64)
    body = {"resource_provider_generation": 1, "total": 8, "allocation_ratio": 2.5}
    answer = admin("PUT", f"{host}/inventories/VCPU", body=body)
    assert answer.json() == {"total": 8, **DEFAULTS, "allocation_ratio": 2.5, "resource_provider_generation": 2}
    assert set(admin("GET", f"{host}/inventories").json()["inventories"]) == {"VCPU", "MEMORY_MB"}


@pytest.mark.parametrize(("name", "status"), [("MEMORY_MB", 400), ("CUSTOM_NONE", 404)])
def test_put_one_that_is_not_there_is_refused(admin: Ask, host: str, name: str, status: int) -> None:
    body = {"resource_provider_generation": 0, "total": 8}
    assert admin("PUT", f"{host}/inventories/{name}", body=body).status_code == status


def test_put_one_at_another_generation_is_a_conflict(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    body = {"resource_provider_generation": 0, "total": 8}
    assert admin("PUT", f"{host}/inventories/VCPU", body=body).status_code == 409


def test_put_one_names_a_generation(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    assert admin("PUT", f"{host}/inventories/VCPU", body={"total": 8}).status_code == 400


def test_delete_one_moves_the_generation(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4, MEMORY_MB=64)
    assert admin("DELETE", f"{host}/inventories/VCPU").status_code == 204
    left = admin("GET", f"{host}/inventories").json()
    assert (list(left["inventories"]), left["resource_provider_generation"]) == (["MEMORY_MB"], 2)


def test_delete_one_that_is_not_there_is_not_found(admin: Ask, host: str) -> None:
    answer = admin("DELETE", f"{host}/inventories/VCPU")
    assert answer.status_code == 404
    assert "No inventory of class VCPU found for delete" in error_of(answer)["detail"]
    assert admin("GET", f"{host}/inventories/VCPU").status_code == 404


def test_delete_one_that_is_used_is_a_conflict(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    held(admin, host, VCPU=1)
    answer = admin("DELETE", f"{host}/inventories/VCPU")
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.concurrent_update"


def test_delete_all_came_with_1_5(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    assert admin("DELETE", f"{host}/inventories", version="1.4").status_code == 405
    assert admin("DELETE", f"{host}/inventories", version="1.5").status_code == 204
    assert admin("GET", f"{host}/inventories").json() == {"resource_provider_generation": 2, "inventories": {}}


def test_delete_all_while_some_is_used_is_a_conflict(admin: Ask, host: str) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    held(admin, host, VCPU=1)
    answer = admin("DELETE", f"{host}/inventories")
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.inventory.inuse"


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("GET", "", None),
        ("POST", "", {}),
        ("PUT", "", {"resource_provider_generation": 0, "inventories": {}}),
        ("DELETE", "", None),
        ("GET", "/VCPU", None),
        ("PUT", "/VCPU", {}),
        ("DELETE", "/VCPU", None),
    ],
)
def test_provider_that_is_not_there_is_not_found_whatever_the_body(
    admin: Ask, method: str, tail: str, body: object
) -> None:
    answer = admin(method, f"/resource_providers/{uuid4()}/inventories{tail}", body=body)
    assert answer.status_code == 404
    assert "No resource provider with uuid" in error_of(answer)["detail"]


@pytest.mark.parametrize("tail", ["inventories", "inventories/VCPU", "usages", "traits", "aggregates"])
def test_reading_costs_one_query(
    admin: Ask, host: str, tail: str, django_assert_num_queries: Callable[[int], Any]
) -> None:
    inventories_set(admin, uuid_of(host), VCPU=4)
    with django_assert_num_queries(1):
        assert admin("GET", f"{host}/{tail}").status_code == 200
