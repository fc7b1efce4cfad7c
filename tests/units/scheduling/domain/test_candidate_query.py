"""From a flavor's extra specs to the groups of a candidate query."""

from typing import Any
from uuid import UUID

import pytest

from controlplane.kernel.errors import Invalid
from placement.candidates import CandidateQuery, RequestGroup
from scheduling.domain.request.candidate_query import candidate_query, without_tree
from scheduling.domain.request.resources import resource_request
from tests.units.scheduling.worlds import request

VGPU = {"resources1:VGPU": "1"}


def query(specs: dict[str, str] | None = None, *, in_tree: UUID | None = None, **changes: Any) -> CandidateQuery:
    asked = request(specs=specs or {}, **changes)
    return candidate_query(asked, resource_request(asked), in_tree=in_tree)


def group(found: CandidateQuery, suffix: str = "") -> RequestGroup:
    return next(one for one in found.groups if one.suffix == suffix)


def test_flavor_alone_is_the_unsuffixed_group() -> None:
    (only,) = query().groups
    assert (only.suffix, dict(only.resources)) == ("", {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 10})


@pytest.mark.parametrize("suffix", ["1", "_GPU", "-a"])
def test_suffixed_resources_are_a_group_of_their_own(suffix: str) -> None:
    found = query({f"resources{suffix}:VGPU": "2", f"trait{suffix}:CUSTOM_A": "required"})
    assert dict(group(found, suffix).resources) == {"VGPU": 2}
    assert group(found, suffix).required == (frozenset({"CUSTOM_A"}),)
    assert "VGPU" not in group(found).resources
    assert group(found).required == ()


def test_each_required_trait_stands_alone_and_forbidden_ones_together() -> None:
    specs = {"trait:HW_A": "required", "trait:HW_B": "required", "trait:HW_X": "forbidden", "trait:HW_Y": "forbidden"}
    found = group(query(specs))
    assert found.required == (frozenset({"HW_A"}), frozenset({"HW_B"}))
    assert found.forbidden == frozenset({"HW_X", "HW_Y"})


def test_traits_of_request_and_image_join_the_unsuffixed_group() -> None:
    found = query(VGPU, required_traits=frozenset({"HW_R"}), properties={"trait:HW_I": "required"})
    assert group(found).required == (frozenset({"HW_I"}), frozenset({"HW_R"}))
    assert group(found, "1").required == ()


def test_aggregates_of_the_request_are_wanted_of_the_unsuffixed_group() -> None:
    one, two = UUID(int=1), UUID(int=2)
    found = query(member_of=(frozenset({str(one), str(two)}),))
    assert group(found).member_of == (frozenset({one, two}),)


def test_only_wanted_node_is_the_tree() -> None:
    found = query(VGPU, in_tree=UUID(int=7))
    assert (group(found).in_tree, group(found, "1").in_tree) == (UUID(int=7), None)
    assert group(without_tree(found)).in_tree is None


def test_group_of_amount_zero_is_dropped() -> None:
    assert [one.suffix for one in query({"resources1:VGPU": "0"}).groups] == [""]


@pytest.mark.parametrize("policy", ["none", "isolate"])
def test_group_policy_is_passed_on(policy: str) -> None:
    found = query({**VGPU, "resources2:VGPU": "1", "group_policy": policy})
    assert found.group_policy == policy


def test_one_group_needs_no_policy() -> None:
    assert query(VGPU).group_policy is None


def test_several_groups_without_policy_are_invalid() -> None:
    with pytest.raises(Invalid, match="is needed for the groups 1, 2"):
        query({**VGPU, "resources2:VGPU": "1"})


def test_unknown_policy_is_ignored_with_a_note() -> None:
    asked = request(specs={**VGPU, "group_policy": "often"})
    assert resource_request(asked).notes == ("group_policy=often is ignored: none or isolate expected",)


def test_traits_of_a_group_without_resources_are_invalid() -> None:
    with pytest.raises(Invalid, match="trait1: needs resources1:"):
        query({"trait1:CUSTOM_A": "required"})


def test_trait_required_and_forbidden_in_different_groups_is_no_contradiction() -> None:
    found = query({**VGPU, "trait:HW_A": "forbidden", "trait1:HW_A": "required"})
    assert group(found, "1").required == (frozenset({"HW_A"}),)


def test_trait_required_and_forbidden_in_one_group_is_invalid() -> None:
    with pytest.raises(Invalid, match="HW_A is both required and forbidden"):
        query({"trait:HW_A": "forbidden"}, properties={"trait:HW_A": "required"})


def test_flavor_of_groups_alone_wants_its_other_traits_of_the_root() -> None:
    nothing = {f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
    found = query({**nothing, **VGPU, "trait:HW_A": "required", "trait:HW_X": "forbidden"})
    assert [one.suffix for one in found.groups] == ["1"]
    assert (found.root_required, found.root_forbidden) == (frozenset({"HW_A"}), frozenset({"HW_X"}))


def test_flavor_of_nothing_is_invalid() -> None:
    with pytest.raises(Invalid, match="no resources at all"):
        query({f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")})
