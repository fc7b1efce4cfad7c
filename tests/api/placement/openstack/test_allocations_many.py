"""POST /allocations: several consumers at once, all or none."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.worlds.allocation_fleet import AllocationFleet, allocation_fleet, old_state, state

Ask = Callable[..., Any]


@pytest.fixture
def fleet(db: None) -> AllocationFleet:
    return allocation_fleet()


def _held(admin: Ask, consumer: object) -> Any:
    return admin("GET", f"/allocations/{consumer}").json()["allocations"]


def test_it_came_with_1_13(admin: Ask, fleet: AllocationFleet) -> None:
    body = {str(fleet.consumer): old_state(fleet.first)}
    assert admin("POST", "/allocations", version="1.12", body=body).status_code == 404
    assert admin("POST", "/allocations", version="1.13", body=body).status_code == 204


def test_several_consumers_are_written_at_once(admin: Ask, fleet: AllocationFleet) -> None:
    other = uuid4()
    body = {str(fleet.consumer): state(fleet.first), str(other): state(fleet.second)}
    assert admin("POST", "/allocations", version="1.28", body=body).status_code == 204
    assert set(_held(admin, fleet.consumer)) == {str(fleet.first)}
    assert set(_held(admin, other)) == {str(fleet.second)}


def test_what_one_consumer_leaves_another_takes(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": 4}))
    other = uuid4()
    body = {
        str(fleet.consumer): state(fleet.first, 1) | {"allocations": {}},
        str(other): state(fleet.first, amounts={"VCPU": 4}),
    }
    assert admin("POST", "/allocations", version="1.28", body=body).status_code == 204
    assert _held(admin, fleet.consumer) == {}
    assert _held(admin, other)[str(fleet.first)]["resources"] == {"VCPU": 4}


def test_one_refusal_refuses_all(admin: Ask, fleet: AllocationFleet) -> None:
    body = {str(fleet.consumer): state(fleet.first), str(uuid4()): state(fleet.second, amounts={"VCPU": 5})}
    answer = admin("POST", "/allocations", version="1.28", body=body)
    assert answer.status_code == 409
    assert "The requested amount would exceed the capacity" in answer.json()["errors"][0]["detail"]
    assert _held(admin, fleet.consumer) == {}


def test_changed_consumer_is_a_conflict_with_its_code(admin: Ask, fleet: AllocationFleet) -> None:
    body = {str(fleet.consumer): state(fleet.first, 3)}
    answer = admin("POST", "/allocations", version="1.28", body=body)
    assert answer.status_code == 409
    assert answer.json()["errors"][0]["code"] == "placement.concurrent_update"


def test_empty_allocations_need_no_generation_before_1_28(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    body = {str(fleet.consumer): old_state(fleet.first) | {"allocations": {}}}
    assert admin("POST", "/allocations", version="1.13", body=body).status_code == 204
    assert _held(admin, fleet.consumer) == {}


def test_consumer_in_two_spellings_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    consumer = "abcdefab-0000-4000-8000-00000000000a"
    body = {consumer: state(fleet.first), consumer.upper(): state(fleet.second)}
    assert admin("POST", "/allocations", version="1.28", body=body).status_code == 400


@pytest.mark.parametrize("consumer", ["-" * 36, "nobody", ""])
def test_malformed_consumer_is_400(admin: Ask, fleet: AllocationFleet, consumer: str) -> None:
    assert admin("POST", "/allocations", version="1.28", body={consumer: state(fleet.first)}).status_code == 400


@pytest.mark.parametrize("body", [{}, [], "text", 5])
def test_nobody_at_all_is_400(admin: Ask, fleet: AllocationFleet, body: object) -> None:
    assert admin("POST", "/allocations", version="1.28", body=body).status_code == 400


def test_unknown_class_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    body = {str(fleet.consumer): state(fleet.first, amounts={"CUSTOM_PONY": 1})}
    answer = admin("POST", "/allocations", version="1.28", body=body)
    assert answer.status_code == 400
    assert "No such resource class CUSTOM_PONY" in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize(("version", "more"), [("1.34", {"mappings": {"1": []}}), ("1.38", {"consumer_type": "low"})])
def test_newer_members_are_judged(admin: Ask, fleet: AllocationFleet, version: str, more: dict[str, object]) -> None:
    body = {str(fleet.consumer): state(fleet.first, **more)}
    assert admin("POST", "/allocations", version=version, body=body).status_code == 400
