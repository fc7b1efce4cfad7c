"""Traits, and those of a provider."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from placement.services import provider_status_disabled
from tests.worlds.provider_fleet import error_of, generation_of, provider_made, traits_set

Ask = Callable[..., Any]


def names(admin: Ask, query: str) -> list[str]:
    found: list[str] = admin("GET", f"/traits?{query}").json()["traits"]
    return found


def test_there_are_no_traits_before_1_6(admin: Ask) -> None:
    assert admin("GET", "/traits", version="1.5").status_code == 404


def test_put_makes_a_trait_once(admin: Ask) -> None:
    first, again = admin("PUT", "/traits/CUSTOM_A"), admin("PUT", "/traits/CUSTOM_A")
    assert (first.status_code, again.status_code) == (201, 204)
    assert first["Location"].endswith("/placement/traits/CUSTOM_A")
    assert again["Cache-Control"] == "no-cache"
    assert "Content-Type" not in first


@pytest.mark.parametrize("name", ["HW_CPU_X86_AVX", "CUSTOM_", "CUSTOM_a", "CUSTOM_" + "A" * 249])
def test_put_of_a_name_that_is_not_custom_is_refused(admin: Ask, name: str) -> None:
    assert admin("PUT", f"/traits/{name}").status_code == 400


def test_show_tells_by_status_alone(admin: Ask) -> None:
    found = admin("GET", "/traits/HW_CPU_X86_AVX")
    assert (found.status_code, found.content) == (204, b"")
    assert admin("GET", "/traits/CUSTOM_NONE").status_code == 404


def test_list_is_narrowed_by_names_and_by_a_prefix(admin: Ask) -> None:
    admin("PUT", "/traits/CUSTOM_A")
    admin("PUT", "/traits/CUSTOM_B")
    assert names(admin, "name=startswith:CUSTOM_") == ["CUSTOM_A", "CUSTOM_B"]
    assert names(admin, "name=in:CUSTOM_B,HW_CPU_X86_AVX,NONE") == ["CUSTOM_B", "HW_CPU_X86_AVX"]


def test_list_is_narrowed_by_what_providers_have(admin: Ask) -> None:
    traits_set(admin, provider_made(admin), "CUSTOM_A", "HW_CPU_X86_AVX")
    admin("PUT", "/traits/CUSTOM_B")
    assert names(admin, "associated=true") == ["CUSTOM_A", "HW_CPU_X86_AVX"]
    assert names(admin, "associated=False&name=startswith:CUSTOM_") == ["CUSTOM_B"]


@pytest.mark.parametrize("query", ["name=CUSTOM_A", "associated=maybe", "colour=red"])
def test_list_with_a_parameter_that_means_nothing_is_refused(admin: Ask, query: str) -> None:
    assert admin("GET", f"/traits?{query}").status_code == 400


def test_delete_takes_a_custom_trait_away(admin: Ask) -> None:
    admin("PUT", "/traits/CUSTOM_A")
    assert admin("DELETE", "/traits/CUSTOM_A").status_code == 204
    assert admin("DELETE", "/traits/CUSTOM_A").status_code == 404


def test_standard_trait_stays(admin: Ask) -> None:
    assert admin("DELETE", "/traits/HW_CPU_X86_AVX").status_code == 400


def test_trait_that_a_provider_has_stays(admin: Ask) -> None:
    traits_set(admin, provider_made(admin), "CUSTOM_A")
    assert admin("DELETE", "/traits/CUSTOM_A").status_code == 409


def test_provider_shows_its_traits_with_its_generation(admin: Ask) -> None:
    uuid = provider_made(admin)
    path = f"/resource_providers/{uuid}/traits"
    assert admin("GET", path).json() == {"traits": [], "resource_provider_generation": 0}
    traits_set(admin, uuid, "HW_CPU_X86_AVX", "CUSTOM_A")
    assert admin("GET", path).json() == {"traits": ["CUSTOM_A", "HW_CPU_X86_AVX"], "resource_provider_generation": 1}


def test_same_traits_again_leave_the_generation(admin: Ask) -> None:
    uuid = provider_made(admin)
    traits_set(admin, uuid, "CUSTOM_A")
    traits_set(admin, uuid, "CUSTOM_A")
    assert generation_of(admin, uuid) == 1


def test_traits_at_another_generation_are_a_conflict(admin: Ask) -> None:
    uuid = provider_made(admin)
    body = {"resource_provider_generation": 7, "traits": []}
    answer = admin("PUT", f"/resource_providers/{uuid}/traits", body=body)
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.concurrent_update"


def test_unknown_custom_trait_is_refused_and_not_made(admin: Ask) -> None:
    uuid = provider_made(admin)
    body = {"resource_provider_generation": 0, "traits": ["CUSTOM_NEW", "NONE"]}
    answer = admin("PUT", f"/resource_providers/{uuid}/traits", body=body)
    assert answer.status_code == 400
    assert "No such trait CUSTOM_NEW, NONE" in error_of(answer)["detail"]
    assert admin("GET", "/traits/CUSTOM_NEW").status_code == 404


def test_delete_takes_all_traits_off_whoever_put_them_there(admin: Ask) -> None:
    uuid = provider_made(admin)
    traits_set(admin, uuid, "CUSTOM_A")
    provider_status_disabled(UUID(uuid), True)
    path = f"/resource_providers/{uuid}/traits"
    assert admin("DELETE", path).status_code == 204
    assert admin("GET", path).json()["traits"] == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_traits_of_a_provider_that_is_not_there_are_not_found(admin: Ask, method: str) -> None:
    answer = admin(method, f"/resource_providers/{uuid4()}/traits")
    assert answer.status_code == 404
    assert "No resource provider with uuid" in error_of(answer)["detail"]
