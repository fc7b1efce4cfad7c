"""The list of resource providers and what narrows it, version by version."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from tests.worlds.provider_fleet import (
    aggregates_set,
    error_of,
    inventories_set,
    provider_made,
    traits_set,
)

# Spelled out, so that the names of the tests are the same in every process.
NOBODY = "3f1c9f0a-6f0e-4f43-9d7c-2b9c1f0d5e77"

Ask = Callable[..., Any]
AGGREGATE_1, AGGREGATE_2 = "a1f0c7de-0a51-4a5c-8f35-4d0e5e6a1b01", "a1f0c7de-0a51-4a5c-8f35-4d0e5e6a1b02"


@dataclass(frozen=True)
class Fleet:
    """`big` has 8 VCPU, traits A and B, aggregate 1; `small` has 2 VCPU, trait A, aggregates 1 and 2.

    `bare` has nothing and is a child of `big`.
    """

    big: str
    small: str
    bare: str


@pytest.fixture
def fleet(admin: Ask) -> Fleet:
    big, small = provider_made(admin, "big"), provider_made(admin, "small")
    fleet = Fleet(big, small, provider_made(admin, "bare", parent_provider_uuid=big))
    inventories_set(admin, big, VCPU=8)
    inventories_set(admin, small, VCPU=2)
    traits_set(admin, big, "CUSTOM_A", "CUSTOM_B")
    traits_set(admin, small, "CUSTOM_A")
    aggregates_set(admin, big, AGGREGATE_1)
    aggregates_set(admin, small, AGGREGATE_1, AGGREGATE_2)
    return fleet


def listed(admin: Ask, query: str, version: str = "latest") -> list[str]:
    answer = admin("GET", f"/resource_providers?{query}", version=version)
    assert answer.status_code == 200, answer.content
    return [shown["name"] for shown in answer.json()["resource_providers"]]


def refusal(admin: Ask, query: str, version: str = "latest") -> str:
    answer = admin("GET", f"/resource_providers?{query}", version=version)
    assert answer.status_code == 400, answer.content
    return str(error_of(answer)["detail"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["big", "small", "bare"]),
        ("name=small", ["small"]),
        ("name=none", []),
        ("resources=VCPU:1", ["big", "small"]),
        ("resources=VCPU:3", ["big"]),
        ("resources=VCPU:1,MEMORY_MB:1", []),
        ("resources=VCPU:99999999999999999999", []),
        ("required=CUSTOM_A", ["big", "small"]),
        ("required=CUSTOM_A,CUSTOM_B", ["big"]),
        ("required=CUSTOM_A,!CUSTOM_B", ["small"]),
        ("required=!CUSTOM_A", ["bare"]),
        ("required=in:CUSTOM_A,CUSTOM_B", ["big", "small"]),
        ("required=in:CUSTOM_A,HW_CPU_X86_AVX&required=CUSTOM_B", ["big"]),
        (f"member_of={AGGREGATE_1}", ["big", "small"]),
        (f"member_of={AGGREGATE_1}&member_of={AGGREGATE_2}", ["small"]),
        (f"member_of=in:{AGGREGATE_1},{AGGREGATE_2}", ["big", "small"]),
        (f"member_of=!{AGGREGATE_2}", ["big", "bare"]),
        (f"member_of=!in:{AGGREGATE_1},{AGGREGATE_2}", ["bare"]),
        (f"member_of={NOBODY}", []),
        (f"in_tree={NOBODY}", []),
        ("name=big&resources=VCPU:1", ["big"]),
        ("name=bare&resources=VCPU:1", []),
        (f"required=CUSTOM_A&member_of={AGGREGATE_2}&resources=VCPU:2", ["small"]),
    ],
)
def test_parameters_narrow_the_list(admin: Ask, fleet: Fleet, query: str, expected: list[str]) -> None:
    assert listed(admin, query) == expected


def test_uuid_names_one(admin: Ask, fleet: Fleet) -> None:
    assert listed(admin, f"uuid={fleet.small}") == ["small"]
    assert listed(admin, f"uuid={fleet.small}&required=CUSTOM_B") == []


@pytest.mark.parametrize("member", ["big", "bare"])
def test_tree_is_found_by_any_of_its_members(admin: Ask, fleet: Fleet, member: str) -> None:
    assert listed(admin, f"in_tree={getattr(fleet, member)}") == ["big", "bare"]


def test_tree_may_be_asked_for_together_with_resources(admin: Ask, fleet: Fleet) -> None:
    assert listed(admin, f"in_tree={fleet.bare}&resources=VCPU:1") == ["big"]


@pytest.mark.parametrize(
    ("parameter", "since"), [("member_of", 3), ("resources", 4), ("in_tree", 14), ("required", 18)]
)
def test_parameter_is_unknown_before_its_version(admin: Ask, parameter: str, since: int) -> None:
    value = {"resources": "VCPU:1", "required": "HW_CPU_X86_AVX"}.get(parameter, str(uuid4()))
    assert listed(admin, f"{parameter}={value}", f"1.{since}") == []
    assert "Additional properties are not allowed" in refusal(admin, f"{parameter}={value}", f"1.{since - 1}")


@pytest.mark.parametrize(
    ("query", "version", "words"),
    [
        ("uuid=pony", "1.0", "uuid"),
        ("colour=red", "1.39", "Additional properties"),
        ("resources=", "1.4", "Badly formed resources parameter"),
        ("resources=VCPU", "1.4", "Badly formed resources parameter"),
        ("resources=VCPU:1:2", "1.4", "Badly formed resources parameter"),
        ("resources=VCPU:fred", "1.4", "positive integer"),
        ("resources=VCPU:0", "1.4", "amount >= 1"),
        ("resources=PONY:1", "1.4", "No such resource class PONY"),
        ("required=PONY", "1.18", "No such trait(s): PONY"),
        ("required=!PONY", "1.22", "No such trait(s): PONY"),
        ("required=", "1.18", "Got an empty trait"),
        ("required=!", "1.22", "Got an empty trait"),
        ("required=!CUSTOM_A", "1.21", "of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC."),
        ("required=in:CUSTOM_A", "1.38", "only supported since microversion 1.39"),
        ("required=in:CUSTOM_A,!CUSTOM_B", "1.39", "does not support forbidden traits"),
        ("required=in:", "1.39", "Got an empty trait"),
        ("member_of=pony", "1.3", "contain valid UUID"),
        (f"member_of={NOBODY},{NOBODY}", "1.3", "must be prefixed"),
        (f"member_of={NOBODY}&member_of={NOBODY}", "1.23", "Multiple member_of"),
        (f"member_of=!{NOBODY}", "1.31", "Forbidden member_of"),
        ("in_tree=pony", "1.14", "uuid"),
    ],
)
def test_parameter_that_means_nothing_is_refused(
    admin: Ask, fleet: Fleet, query: str, version: str, words: str
) -> None:
    assert words in refusal(admin, query, version)


def test_last_of_repeated_required_counts_before_1_39(admin: Ask, fleet: Fleet) -> None:
    query = "required=CUSTOM_B&required=CUSTOM_A"
    assert listed(admin, query, "1.38") == ["big", "small"]
    assert listed(admin, query, "1.39") == ["big"]


def test_list_looks_as_its_version_does_also_out_of_the_snapshot(admin: Ask, fleet: Fleet) -> None:
    path = "/resource_providers?resources=VCPU:8"
    (new,) = admin("GET", path).json()["resource_providers"]
    (old,) = admin("GET", path, version="1.5").json()["resource_providers"]
    assert new == admin("GET", f"/resource_providers/{fleet.big}").json()
    assert old == admin("GET", f"/resource_providers/{fleet.big}", version="1.5").json()


def test_renamed_provider_is_listed_under_its_new_name(admin: Ask, fleet: Fleet) -> None:
    assert listed(admin, "resources=VCPU:8") == ["big"]
    admin("PUT", f"/resource_providers/{fleet.big}", body={"name": "bigger"})
    assert listed(admin, "resources=VCPU:8") == ["bigger"]


def test_list_costs_one_query_however_long(
    admin: Ask, fleet: Fleet, django_assert_num_queries: Callable[[int], Any]
) -> None:
    with django_assert_num_queries(1):
        listed(admin, "")
