"""Allocations by consumer and by provider: writing and reading them, version by version."""

from collections.abc import Callable
from typing import Any

import pytest

from controlplane.identity.domain import Caller
from tests.worlds.allocation_fleet import PROJECT, USER, AllocationFleet, allocation_fleet, listed, old_state, state
from tests.worlds.cloud import people

# Spelled out, so that the names of the tests are the same in every process.
NOBODY = "3f1c9f0a-6f0e-4f43-9d7c-2b9c1f0d5e77"

Ask = Callable[..., Any]
NIL = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def fleet(db: None) -> AllocationFleet:
    return allocation_fleet()


def _error(answer: Any) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["errors"][0]
    return error


def _generation(admin: Ask, fleet: AllocationFleet) -> int:
    generation: int = admin("GET", fleet.path).json()["consumer_generation"]
    return generation


def test_list_form_is_written_without_owners_before_1_8(admin: Ask, fleet: AllocationFleet) -> None:
    assert admin("PUT", fleet.path, version="1.0", body=listed(fleet.first)).status_code == 204
    held = admin("GET", fleet.path, version="1.12").json()
    assert (held["project_id"], held["user_id"]) == (NIL, NIL)


def test_list_form_needs_owners_from_1_8_on(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.8", body=listed(fleet.first))
    assert answer.status_code == 400
    assert "Failed validating 'required'" in _error(answer)["detail"]


def test_list_form_with_owners_is_written_at_1_11(admin: Ask, fleet: AllocationFleet) -> None:
    body = listed(fleet.first) | {"project_id": PROJECT, "user_id": USER}
    assert admin("PUT", fleet.path, version="1.11", body=body).status_code == 204


def test_list_form_ends_with_1_12(admin: Ask, fleet: AllocationFleet) -> None:
    body = listed(fleet.first) | {"project_id": PROJECT, "user_id": USER}
    assert admin("PUT", fleet.path, version="1.12", body=body).status_code == 400


def test_dict_form_is_written_at_1_12(admin: Ask, fleet: AllocationFleet) -> None:
    assert admin("PUT", fleet.path, version="1.12", body=old_state(fleet.first)).status_code == 204


@pytest.mark.parametrize("version", ["1.12", "1.27"])
def test_empty_allocations_are_refused_before_1_28(admin: Ask, fleet: AllocationFleet, version: str) -> None:
    body = old_state(fleet.first) | {"allocations": {}}
    assert admin("PUT", fleet.path, version=version, body=body).status_code == 400


def test_empty_allocations_end_the_consumer_from_1_28_on(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    body = state(fleet.first, 1) | {"allocations": {}}
    assert admin("PUT", fleet.path, version="1.28", body=body).status_code == 204
    assert admin("GET", fleet.path).json() == {"allocations": {}}


def test_generation_is_required_from_1_28_on(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=old_state(fleet.first))
    assert answer.status_code == 400
    assert "JSON does not validate" in _error(answer)["detail"]


def test_generation_of_nobody_is_a_conflict(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, 5))
    assert answer.status_code == 409
    assert _error(answer)["code"] == "placement.concurrent_update"
    assert "consumer generation conflict - expected null but got 5" in _error(answer)["detail"]


def test_null_generation_of_somebody_is_a_conflict(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    assert answer.status_code == 409
    assert "consumer generation conflict - expected 1 but got null" in _error(answer)["detail"]


@pytest.mark.parametrize("generation", [10**30, 2**63, -(2**70), 1.5e300])
def test_generation_beyond_any_is_a_conflict(admin: Ask, fleet: AllocationFleet, generation: float) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, generation))  # type: ignore[arg-type]
    assert answer.status_code == 409


def test_matching_generation_replaces_and_grows(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    body = state(fleet.second, 1, amounts={"VCPU": 2})
    assert admin("PUT", fleet.path, version="1.28", body=body).status_code == 204
    held = admin("GET", fleet.path, version="1.28").json()
    assert held["consumer_generation"] == 2
    assert {uuid: one["resources"] for uuid, one in held["allocations"].items()} == {str(fleet.second): {"VCPU": 2}}


def test_replacement_without_generation_is_for_old_versions(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    assert admin("PUT", fleet.path, version="1.27", body=old_state(fleet.second)).status_code == 204
    assert _generation(admin, fleet) == 2


def test_mappings_come_with_1_34(admin: Ask, fleet: AllocationFleet) -> None:
    body = state(fleet.first, mappings={"": [str(fleet.first)], "_NET": [str(fleet.first)]})
    refused = admin("PUT", fleet.path, version="1.33", body=body)
    assert refused.status_code == 400
    assert "Additional properties are not allowed" in _error(refused)["detail"]
    assert admin("PUT", fleet.path, version="1.34", body=body).status_code == 204


@pytest.mark.parametrize("mappings", [{}, {"1": "beta"}, {"1": []}, {"1": ["no uuid"]}, {"1": [1]}, []])
def test_malformed_mappings_are_400(admin: Ask, fleet: AllocationFleet, mappings: object) -> None:
    answer = admin("PUT", fleet.path, version="1.34", body=state(fleet.first, mappings=mappings))
    assert answer.status_code == 400
    assert "JSON does not validate" in _error(answer)["detail"]


def test_consumer_type_is_required_from_1_38_on(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.38", body=state(fleet.first))
    assert answer.status_code == 400
    assert "'consumer_type' is a required property" in _error(answer)["detail"]


def test_consumer_type_is_shown_from_1_38_on(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.38", body=state(fleet.first, consumer_type="PONY"))
    assert admin("GET", fleet.path, version="1.38").json()["consumer_type"] == "PONY"
    assert "consumer_type" not in admin("GET", fleet.path, version="1.37").json()


def test_consumer_without_a_type_is_unknown(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.37", body=state(fleet.first))
    assert admin("GET", fleet.path, version="1.38").json()["consumer_type"] == "unknown"


@pytest.mark.parametrize("name", ["instance", "", "A" * 256, "PONY\n", "PO NY", 5, None])
def test_malformed_consumer_type_is_400(admin: Ask, fleet: AllocationFleet, name: object) -> None:
    answer = admin("PUT", fleet.path, version="1.38", body=state(fleet.first, consumer_type=name))
    assert answer.status_code == 400


def test_old_client_keeps_the_type_that_is_there(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.38", body=state(fleet.first, consumer_type="PONY"))
    admin("PUT", fleet.path, version="1.37", body=state(fleet.first, 1))
    assert admin("GET", fleet.path, version="1.38").json()["consumer_type"] == "PONY"


def test_members_of_a_consumer_grow_with_the_version(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    shown = {version: set(admin("GET", fleet.path, version=version).json()) for version in ("1.11", "1.12", "1.28")}
    assert shown["1.11"] == {"allocations"}
    assert shown["1.12"] == {"allocations", "project_id", "user_id"}
    assert shown["1.28"] == {"allocations", "project_id", "user_id", "consumer_generation"}


def test_consumer_shows_the_generation_of_its_provider(admin: Ask, fleet: AllocationFleet) -> None:
    before = admin("GET", f"/resource_providers/{fleet.first}").json()["generation"]
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    held = admin("GET", fleet.path).json()["allocations"][str(fleet.first)]
    assert held == {"resources": {"VCPU": 1}, "generation": before + 1}


@pytest.mark.parametrize("consumer", [NOBODY, "nobody"])
def test_unknown_consumer_holds_nothing(admin: Ask, fleet: AllocationFleet, consumer: str) -> None:
    answer = admin("GET", f"/allocations/{consumer}")
    assert (answer.status_code, answer.json()) == (200, {"allocations": {}})


def test_reading_has_cache_headers_from_1_15_on(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    for path in (fleet.path, f"/resource_providers/{fleet.first}/allocations"):
        assert "Last-Modified" not in admin("GET", path, version="1.14")
        assert admin("GET", path, version="1.15")["Cache-Control"] == "no-cache"


def test_writing_has_no_cache_headers_and_no_body(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    assert (answer.content, "Last-Modified" in answer, "Content-Type" in answer) == (b"", False, False)


def test_provider_shows_its_consumers(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": 2, "MEMORY_MB": 128}))
    path = f"/resource_providers/{fleet.first}/allocations"
    old, new = (admin("GET", path, version=version).json() for version in ("1.27", "1.28"))
    assert old["allocations"] == {str(fleet.consumer): {"resources": {"VCPU": 2, "MEMORY_MB": 128}}}
    assert new["allocations"][str(fleet.consumer)]["consumer_generation"] == 1
    assert new["resource_provider_generation"] == admin("GET", path.rsplit("/", 1)[0]).json()["generation"]


def test_provider_without_consumers_shows_none(admin: Ask, fleet: AllocationFleet) -> None:
    assert admin("GET", f"/resource_providers/{fleet.second}/allocations").json()["allocations"] == {}


@pytest.mark.parametrize("provider", [NOBODY, "no-uuid"])
def test_allocations_of_an_unknown_provider_are_404(admin: Ask, fleet: AllocationFleet, provider: str) -> None:
    answer = admin("GET", f"/resource_providers/{provider}/allocations")
    assert answer.status_code == 404
    assert f"'{provider}' not found" in _error(answer)["detail"]


def test_delete_ends_the_consumer_once(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first))
    assert admin("DELETE", fleet.path, version="1.0").status_code == 204
    again = admin("DELETE", fleet.path, version="1.0")
    assert again.status_code == 404
    assert f"No allocations for consumer '{fleet.consumer}'" in _error(again)["detail"]


def test_delete_of_what_is_no_uuid_is_404(admin: Ask, fleet: AllocationFleet) -> None:
    assert admin("DELETE", "/allocations/nobody").status_code == 404


def test_malformed_consumer_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", "/allocations/nobody", version="1.28", body=state(fleet.first))
    assert answer.status_code == 400
    assert "Malformed consumer_uuid: nobody" in _error(answer)["detail"]


def test_amount_beyond_the_capacity_is_a_conflict_with_numbers(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": 5}))
    assert answer.status_code == 409
    assert _error(answer)["code"] == "placement.undefined_code"
    assert "Unable to allocate inventory" in _error(answer)["detail"]
    assert "The requested amount would exceed the capacity (wanted 5, free 4)" in _error(answer)["detail"]


@pytest.mark.parametrize("amount", [63, 65, 2**31, 2**70, 1e300])
def test_amount_against_the_constraints_is_a_conflict(admin: Ask, fleet: AllocationFleet, amount: float) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"MEMORY_MB": amount}))
    assert answer.status_code == 409
    assert "would violate inventory constraints" in _error(answer)["detail"]


def test_class_without_inventory_is_a_conflict(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"PCI_DEVICE": 1}))
    assert answer.status_code == 409
    assert f"Inventory for 'PCI_DEVICE' on resource provider '{fleet.first}'" in _error(answer)["detail"]


def test_unknown_class_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"COWS": 1}))
    assert answer.status_code == 400
    assert "Unable to allocate inventory for consumer" in _error(answer)["detail"]
    assert "No such resource class COWS" in _error(answer)["detail"]


@pytest.mark.parametrize("provider", [NOBODY, "-" * 36, "f" * 36])
def test_unknown_provider_is_400(admin: Ask, fleet: AllocationFleet, provider: str) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(provider))
    assert answer.status_code == 400
    assert f"Allocation for resource provider '{provider}' that does not exist" in _error(answer)["detail"]


def test_refused_state_leaves_no_consumer(admin: Ask, fleet: AllocationFleet) -> None:
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": 5}))
    assert admin("PUT", fleet.path, version="1.28", body=state(fleet.first)).status_code == 204


def test_provider_named_in_two_spellings_is_400(admin: Ask, fleet: AllocationFleet) -> None:
    body = state(fleet.first)
    body["allocations"][str(fleet.first).upper()] = {"resources": {"MEMORY_MB": 64}}
    assert admin("PUT", fleet.path, version="1.28", body=body).status_code == 400


def test_whole_number_with_a_point_is_a_whole_number(admin: Ask, fleet: AllocationFleet) -> None:
    assert admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": 2.0})).status_code == 204
    assert admin("GET", fleet.path).json()["allocations"][str(fleet.first)]["resources"] == {"VCPU": 2}


@pytest.mark.parametrize("amount", [0, -1, 1.5, "1", True, None, [], {}])
def test_amount_that_is_none_is_400(admin: Ask, fleet: AllocationFleet, amount: object) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": amount}))
    assert answer.status_code == 400


@pytest.mark.parametrize("owner", ["", "x" * 256, "a\0b", 5, None, ["x"]])
@pytest.mark.parametrize("member", ["project_id", "user_id"])
def test_malformed_owner_is_400(admin: Ask, fleet: AllocationFleet, member: str, owner: object) -> None:
    answer = admin("PUT", fleet.path, version="1.28", body=state(fleet.first, **{member: owner}))
    assert answer.status_code == 400


def _nested(depth: int) -> bytes:
    return b'{"allocations":' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff\xfe", b'{"allocations": "\xed\xa0\x80"}', b'{"a\\u0000b": 1}', _nested(100), _nested(900), b"[]"],
)
def test_hostile_body_is_400(admin: Ask, fleet: AllocationFleet, body: bytes) -> None:
    for method, path in (("PUT", fleet.path), ("POST", "/allocations"), ("POST", "/reshaper")):
        assert admin(method, path, version="1.38", body=body).status_code == 400


def test_key_given_twice_counts_as_its_last(admin: Ask, fleet: AllocationFleet) -> None:
    one = f'"{fleet.first}": {{"resources": {{"VCPU": 4, "VCPU": 1}}}}'
    body = f'{{"allocations": {{{one}}}, "project_id": "p", "user_id": "u", "consumer_generation": null}}'
    assert admin("PUT", fleet.path, version="1.28", body=body).status_code == 204
    assert admin("GET", fleet.path).json()["allocations"][str(fleet.first)]["resources"] == {"VCPU": 1}


@pytest.mark.parametrize("who", ["member", "reader", "stranger"])
def test_only_an_admin_reads_or_writes(
    ask: Ask, fleet: AllocationFleet, token_of: Callable[[Caller], str], who: str
) -> None:
    token = token_of(getattr(people(), who))
    assert ask("GET", fleet.path, x_auth_token=token).status_code == 403
    assert ask("PUT", fleet.path, version="1.28", body=state(fleet.first), x_auth_token=token).status_code == 403
    assert ask("DELETE", fleet.path, x_auth_token=token).status_code == 403


def test_admin_with_a_real_token_writes(ask: Ask, fleet: AllocationFleet, token_of: Callable[[Caller], str]) -> None:
    token = token_of(people().admin)
    answer = ask("PUT", fleet.path, version="1.28", body=state(fleet.first), x_auth_token=token)
    assert answer.status_code == 204
