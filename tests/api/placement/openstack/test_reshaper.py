"""POST /reshaper: inventories and allocations restated together."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.worlds.allocation_fleet import AllocationFleet, allocation_fleet, state

Ask = Callable[..., Any]


@pytest.fixture
def fleet(db: None) -> AllocationFleet:
    return allocation_fleet()


def _generation(admin: Ask, provider: object) -> int:
    generation: int = admin("GET", f"/resource_providers/{provider}").json()["generation"]
    return generation


def _stated(generation: float, **classes: dict[str, Any]) -> dict[str, Any]:
    return {"resource_provider_generation": generation, "inventories": classes}


def _body(allocations: dict[str, Any] | None = None, **inventories: dict[str, Any]) -> dict[str, Any]:
    return {"inventories": inventories, "allocations": allocations or {}}


def _reshape(admin: Ask, body: object, version: str = "1.30") -> Any:
    return admin("POST", "/reshaper", version=version, body=body)


def test_it_came_with_1_30(admin: Ask, fleet: AllocationFleet) -> None:
    body = _body(**{str(fleet.first): _stated(_generation(admin, fleet.first), VCPU={"total": 8})})
    assert _reshape(admin, body, "1.29").status_code == 404
    assert _reshape(admin, body, "1.30").status_code == 204


def test_class_moves_to_another_provider_while_in_use(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": 4}))
    body = _body(
        {str(fleet.consumer): state(fleet.second, 1, amounts={"VCPU": 4})},
        **{
            str(fleet.first): _stated(_generation(admin, fleet.first), MEMORY_MB={"total": 1024}),
            str(fleet.second): _stated(_generation(admin, fleet.second), VCPU={"total": 4, "allocation_ratio": 2.5}),
        },
    )
    assert _reshape(admin, body).status_code == 204
    left = admin("GET", f"/resource_providers/{fleet.first}/inventories").json()["inventories"]
    assert set(left) == {"MEMORY_MB"}
    assert set(admin("GET", fleet.path).json()["allocations"]) == {str(fleet.second)}


def test_class_that_stays_in_use_cannot_go(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    body = _body(**{str(fleet.first): _stated(_generation(admin, fleet.first), MEMORY_MB={"total": 1024})})
    answer = _reshape(admin, body)
    assert answer.status_code == 409
    assert answer.json()["errors"][0]["code"] == "placement.inventory.inuse"


def test_changed_provider_is_a_conflict(admin: Ask, fleet: AllocationFleet) -> None:
    actual = _generation(admin, fleet.first)
    answer = _reshape(admin, _body(**{str(fleet.first): _stated(actual + 3, VCPU={"total": 1})}))
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["code"]) == (409, "placement.concurrent_update")
    assert "resource provider generation conflict" in error["detail"]
    assert f"actual: {actual}, given: {actual + 3}" in error["detail"]


@pytest.mark.parametrize("generation", [2**70, -(2**70), 1e300])
def test_generation_beyond_any_is_a_conflict(admin: Ask, fleet: AllocationFleet, generation: float) -> None:
    body = _body(**{str(fleet.first): _stated(generation, VCPU={"total": 1})})
    assert _reshape(admin, body).status_code == 409


def test_changed_consumer_is_a_conflict(admin: Ask, fleet: AllocationFleet) -> None:
    body = _body(
        {str(fleet.consumer): state(fleet.first, 99)},
        **{str(fleet.first): _stated(_generation(admin, fleet.first), VCPU={"total": 4})},
    )
    answer = _reshape(admin, body)
    assert answer.status_code == 409
    assert "consumer generation conflict" in answer.json()["errors"][0]["detail"]


def test_too_much_for_the_new_inventory_is_a_conflict(admin: Ask, fleet: AllocationFleet) -> None:
    body = _body(
        {str(fleet.consumer): state(fleet.first, amounts={"VCPU": 2})},
        **{str(fleet.first): _stated(_generation(admin, fleet.first), VCPU={"total": 1})},
    )
    answer = _reshape(admin, body)
    assert answer.status_code == 409
    assert "Unable to allocate inventory" in answer.json()["errors"][0]["detail"]


def test_unknown_provider_among_the_inventories_has_its_code(admin: Ask, fleet: AllocationFleet) -> None:
    answer = _reshape(admin, _body(**{str(uuid4()): _stated(0, VCPU={"total": 1})}))
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["code"]) == (400, "placement.resource_provider.not_found")


def test_unknown_provider_among_the_allocations_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    body = _body(
        {str(fleet.consumer): state(uuid4())},
        **{str(fleet.first): _stated(_generation(admin, fleet.first), VCPU={"total": 4})},
    )
    answer = _reshape(admin, body)
    assert answer.status_code == 400
    assert "that does not exist" in answer.json()["errors"][0]["detail"]


def test_unknown_class_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    body = _body(**{str(fleet.first): _stated(_generation(admin, fleet.first), DISK_OF_STEEL={"total": 4})})
    answer = _reshape(admin, body)
    assert answer.status_code == 400
    assert "No such resource class DISK_OF_STEEL" in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"total": 0},
        {"total": 2**31},
        {"total": 1, "bad_field": 1},
        {"total": 1, "reserved": 2},
        {"total": 1, "allocation_ratio": -1},
        {"total": 1, "allocation_ratio": 1e300},
        {"total": 1, "step_size": 0},
    ],
)
def test_malformed_inventory_is_400(admin: Ask, fleet: AllocationFleet, fields: dict[str, Any]) -> None:
    body = _body(**{str(fleet.first): _stated(_generation(admin, fleet.first), VCPU=fields)})
    assert _reshape(admin, body).status_code == 400


@pytest.mark.parametrize("body", [{}, {"inventories": {}, "allocations": {}}, {"inventories": {"x": {}}}, []])
def test_malformed_body_is_400(admin: Ask, fleet: AllocationFleet, body: object) -> None:
    assert _reshape(admin, body).status_code == 400


def test_provider_in_two_spellings_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    uuid = "abcdefab-0000-4000-8000-00000000000a"
    one = _stated(0, VCPU={"total": 1})
    assert _reshape(admin, _body(**{uuid: one, uuid.upper(): one})).status_code == 400


@pytest.mark.parametrize(
    ("version", "more", "status"),
    [
        ("1.33", {"mappings": {"": ["{first}"]}}, 400),
        ("1.37", {"mappings": {"": ["{first}"]}}, 204),
        ("1.37", {"consumer_type": "PONY"}, 400),
        ("1.38", {}, 400),
        ("1.38", {"consumer_type": "PONY"}, 204),
    ],
)
def test_members_of_a_state_follow_the_version(
    admin: Ask, fleet: AllocationFleet, version: str, more: dict[str, Any], status: int
) -> None:
    if "mappings" in more:
        more = {"mappings": {"": [str(fleet.first)]}}
    body = _body(
        {str(fleet.consumer): state(fleet.first, **more)},
        **{str(fleet.first): _stated(_generation(admin, fleet.first), VCPU={"total": 4})},
    )
    assert _reshape(admin, body, version).status_code == status
