"""GET /allocation_candidates: the forms of the answer, version by version, and what is refused."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from controlplane.identity.domain import Caller
from placement.domain import InventorySpec
from placement.services import inventory_set, provider_aggregates_set, provider_traits_set
from tests.worlds.allocation_fleet import AllocationFleet, allocation_fleet, state
from tests.worlds.cloud import people

Ask = Callable[..., Any]
AGGREGATE = UUID(int=5)
BOTH = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:64"


@pytest.fixture
def fleet(db: None) -> AllocationFleet:
    fleet = allocation_fleet()
    provider_traits_set(fleet.first, {"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"})
    provider_aggregates_set(fleet.first, {AGGREGATE})
    return fleet


def _providers(answer: Any) -> set[str]:
    assert answer.status_code == 200, answer.content
    return {uuid for one in answer.json()["allocation_requests"] for uuid in one["allocations"]}


def _detail(answer: Any) -> str:
    assert answer.status_code == 400, answer.content
    detail: str = answer.json()["errors"][0]["detail"]
    return detail


def _child(admin: Ask, parent: UUID, **classes: int) -> str:
    uuid = str(uuid4())
    body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": str(parent)}
    assert admin("POST", "/resource_providers", body=body).status_code == 200
    inventory_set(UUID(uuid), {name: InventorySpec(total) for name, total in classes.items()})
    return uuid


def test_it_came_with_1_10(admin: Ask, fleet: AllocationFleet) -> None:
    assert admin("GET", BOTH, version="1.9").status_code == 404
    assert admin("GET", BOTH, version="1.10").status_code == 200


def test_requests_are_lists_before_1_12(admin: Ask, fleet: AllocationFleet) -> None:
    requests = admin("GET", BOTH, version="1.11").json()["allocation_requests"]
    one = {"resource_provider": {"uuid": str(fleet.first)}, "resources": {"VCPU": 1, "MEMORY_MB": 64}}
    assert {"allocations": [one]} in requests
    assert len(requests) == 2


def test_requests_are_dicts_from_1_12_on(admin: Ask, fleet: AllocationFleet) -> None:
    requests = admin("GET", BOTH, version="1.33").json()["allocation_requests"]
    assert {"allocations": {str(fleet.first): {"resources": {"VCPU": 1, "MEMORY_MB": 64}}}} in requests


def test_mappings_come_with_1_34(admin: Ask, fleet: AllocationFleet) -> None:
    requests = admin("GET", BOTH, version="1.34").json()["allocation_requests"]
    assert {next(iter(one["allocations"])): one["mappings"] for one in requests} == {
        str(uuid): {"": [str(uuid)]} for uuid in (fleet.first, fleet.second)
    }


def test_mapping_of_a_suffixed_group_has_its_suffix(admin: Ask, fleet: AllocationFleet) -> None:
    path = "/allocation_candidates?resources_A-1=VCPU:1&limit=1"
    (one,) = admin("GET", path).json()["allocation_requests"]
    assert list(one["mappings"]) == ["_A-1"]


def test_two_groups_are_mapped_each(admin: Ask, fleet: AllocationFleet) -> None:
    path = "/allocation_candidates?resources1=VCPU:1&resources2=VCPU:2&group_policy=none&limit=1"
    (one,) = admin("GET", path).json()["allocation_requests"]
    (uuid, taken), *others = one["allocations"].items()
    assert (others, taken["resources"]) == ([], {"VCPU": 3})
    assert one["mappings"] == {"1": [uuid], "2": [uuid]}


@pytest.mark.parametrize(
    ("version", "members"),
    [
        ("1.16", {"resources"}),
        ("1.17", {"resources", "traits"}),
        ("1.28", {"resources", "traits"}),
        ("1.29", {"resources", "traits", "parent_provider_uuid", "root_provider_uuid"}),
    ],
)
def test_members_of_a_summary_grow_with_the_version(
    admin: Ask, fleet: AllocationFleet, version: str, members: set[str]
) -> None:
    summaries = admin("GET", BOTH, version=version).json()["provider_summaries"]
    assert set(summaries[str(fleet.first)]) == members


@pytest.mark.parametrize(("version", "classes"), [("1.26", {"VCPU"}), ("1.27", {"VCPU", "MEMORY_MB"})])
def test_summary_has_all_classes_from_1_27_on(
    admin: Ask, fleet: AllocationFleet, version: str, classes: set[str]
) -> None:
    answer = admin("GET", "/allocation_candidates?resources=VCPU:1", version=version)
    assert set(answer.json()["provider_summaries"][str(fleet.first)]["resources"]) == classes


def test_summary_says_what_is_there_now(admin: Ask, fleet: AllocationFleet) -> None:
    before = admin("GET", BOTH).json()["provider_summaries"][str(fleet.first)]
    admin("PUT", fleet.path, version="1.28", body=state(fleet.first, amounts={"VCPU": 3}))
    after = admin("GET", BOTH).json()["provider_summaries"][str(fleet.first)]
    assert before["resources"]["VCPU"] == {"capacity": 4, "used": 0}
    assert after["resources"]["VCPU"] == {"capacity": 4, "used": 3}
    assert after["traits"] == ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"]
    assert (after["parent_provider_uuid"], after["root_provider_uuid"]) == (None, str(fleet.first))


def test_children_are_taken_from_as_well_from_1_29_on(admin: Ask, fleet: AllocationFleet) -> None:
    child = _child(admin, fleet.first, SRIOV_NET_VF=2)
    path = "/allocation_candidates?resources=VCPU:1,SRIOV_NET_VF:1"
    assert _providers(admin("GET", path, version="1.29")) == {str(fleet.first), child}
    assert _providers(admin("GET", path, version="1.28")) == set()


def test_child_shows_its_place_in_the_tree(admin: Ask, fleet: AllocationFleet) -> None:
    child = _child(admin, fleet.first, SRIOV_NET_VF=2)
    summaries = admin("GET", "/allocation_candidates?resources=SRIOV_NET_VF:1").json()["provider_summaries"]
    assert set(summaries) == {str(fleet.first), child}
    assert summaries[child]["parent_provider_uuid"] == str(fleet.first)
    assert summaries[child]["root_provider_uuid"] == str(fleet.first)


def test_limit_came_with_1_16(admin: Ask, fleet: AllocationFleet) -> None:
    assert "'limit' was unexpected" in _detail(admin("GET", f"{BOTH}&limit=1", version="1.15"))
    assert len(_providers(admin("GET", f"{BOTH}&limit=1", version="1.16"))) == 1


def test_of_two_limits_the_first_counts(admin: Ask, fleet: AllocationFleet) -> None:
    assert len(_providers(admin("GET", f"{BOTH}&limit=10&limit=1"))) == 2


@pytest.mark.parametrize("limit", ["0", "-1", "", "a", "1a", "1.5"])
@pytest.mark.parametrize("other", ["", "&limit=3"])
def test_limit_that_is_none_is_400(admin: Ask, fleet: AllocationFleet, limit: str, other: str) -> None:
    assert "Invalid query string parameters" in _detail(admin("GET", f"{BOTH}&limit={limit}{other}"))


def test_huge_limit_is_no_limit(admin: Ask, fleet: AllocationFleet) -> None:
    assert len(_providers(admin("GET", f"{BOTH}&limit={'9' * 5000}"))) == 2


@pytest.mark.parametrize(
    ("since", "more"),
    [
        (17, "required=HW_CPU_X86_AVX"),
        (21, f"member_of={AGGREGATE}"),
        (25, "resources1=VCPU:1"),
        (25, "group_policy=none"),
        (31, f"in_tree={AGGREGATE}"),
        (33, "resources_A=VCPU:1"),
        (35, "root_required=HW_CPU_X86_AVX"),
        (36, "resources1=VCPU:1&same_subtree=1"),
    ],
)
def test_parameter_is_unknown_before_its_version(admin: Ask, fleet: AllocationFleet, since: int, more: str) -> None:
    assert "Invalid query string parameters" in _detail(admin("GET", f"{BOTH}&{more}", version=f"1.{since - 1}"))
    assert admin("GET", f"{BOTH}&{more}", version=f"1.{since}").status_code == 200


def test_required_trait_chooses(admin: Ask, fleet: AllocationFleet) -> None:
    assert _providers(admin("GET", f"{BOTH}&required=HW_CPU_X86_AVX")) == {str(fleet.first)}
    assert _providers(admin("GET", f"{BOTH}&required=!HW_CPU_X86_AVX")) == {str(fleet.second)}


def test_root_required_chooses(admin: Ask, fleet: AllocationFleet) -> None:
    assert _providers(admin("GET", f"{BOTH}&root_required=!HW_CPU_X86_AVX")) == {str(fleet.second)}


def test_member_of_chooses(admin: Ask, fleet: AllocationFleet) -> None:
    assert _providers(admin("GET", f"{BOTH}&member_of={AGGREGATE}")) == {str(fleet.first)}
    assert _providers(admin("GET", f"{BOTH}&member_of=!{AGGREGATE}")) == {str(fleet.second)}


def test_in_tree_chooses(admin: Ask, fleet: AllocationFleet) -> None:
    assert _providers(admin("GET", f"{BOTH}&in_tree={fleet.second}")) == {str(fleet.second)}
    assert _providers(admin("GET", f"{BOTH}&in_tree={uuid4()}")) == set()


@pytest.mark.parametrize("name", ["NOBODY", "CUSTOM_NONE", "low", "", "x" * 5000])
def test_unknown_class_is_400(admin: Ask, fleet: AllocationFleet, name: str) -> None:
    assert "Invalid resource class" in _detail(admin("GET", f"/allocation_candidates?resources={name}:1"))


@pytest.mark.parametrize("name", ["INVALID_TRAIT", "CUSTOM_NONE", "!CUSTOM_NONE"])
@pytest.mark.parametrize("parameter", ["required", "root_required"])
def test_unknown_trait_is_400(admin: Ask, fleet: AllocationFleet, parameter: str, name: str) -> None:
    assert "No such trait(s): " in _detail(admin("GET", f"{BOTH}&{parameter}={name}"))


@pytest.mark.parametrize("amount", [2**31, 2**63, 2**64, 10**400])
def test_amount_beyond_any_inventory_has_no_candidates(admin: Ask, fleet: AllocationFleet, amount: int) -> None:
    answer = admin("GET", f"/allocation_candidates?resources=VCPU:{amount}")
    assert answer.json() == {"allocation_requests": [], "provider_summaries": {}}


@pytest.mark.parametrize("amount", ["0", "-1", "", "a", "1.5", "9" * 5000, "1:2"])
def test_amount_that_is_none_is_400(admin: Ask, fleet: AllocationFleet, amount: str) -> None:
    assert admin("GET", f"/allocation_candidates?resources=VCPU:{amount}").status_code == 400


@pytest.mark.parametrize(
    "query", ["%ff=1", "resources=%ff", "resources=VCPU:1&%00=1", "resources=A%00:1", quote("résources=VCPU:1")]
)
def test_query_that_is_no_text_is_400(admin: Ask, fleet: AllocationFleet, query: str) -> None:
    assert admin("GET", f"/allocation_candidates?{query}").status_code == 400


@pytest.mark.parametrize("parameter", ["required", "root_required", "member_of", "in_tree", "same_subtree"])
def test_value_with_a_nul_is_400(admin: Ask, fleet: AllocationFleet, parameter: str) -> None:
    assert "Invalid query string parameters" in _detail(admin("GET", f"{BOTH}&{parameter}=CUSTOM_%00"))


def test_answer_is_not_kept_by_caches_from_1_15_on(admin: Ask, fleet: AllocationFleet) -> None:
    assert "Cache-Control" not in admin("GET", BOTH, version="1.14")
    answer = admin("GET", BOTH, version="1.15")
    assert (answer["Cache-Control"], "Last-Modified" in answer) == ("no-cache", True)


def test_candidate_is_the_body_of_a_claim(admin: Ask, fleet: AllocationFleet) -> None:
    (one,) = admin("GET", f"{BOTH}&limit=1").json()["allocation_requests"]
    body = one | {"project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "INSTANCE"}
    assert admin("PUT", fleet.path, body=body).status_code == 204


@pytest.mark.parametrize("who", ["member", "reader", "stranger"])
def test_only_an_admin_searches(ask: Ask, fleet: AllocationFleet, token_of: Callable[[Caller], str], who: str) -> None:
    assert ask("GET", BOTH, x_auth_token=token_of(getattr(people(), who))).status_code == 403
