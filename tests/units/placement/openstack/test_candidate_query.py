"""From query strings to what is searched for; no database."""

from uuid import UUID

import pytest
from django.http import QueryDict

from controlplane.openstack.faults import ApiFault
from placement.candidates.query import CandidateQuery, RequestGroup
from placement.domain import MAX_INT
from placement.openstack.candidate_names import classes_asked, traits_asked
from placement.openstack.candidate_query import parse_candidate_query
from placement.openstack.faults import QUERY_BAD_VALUE, QUERY_DUPLICATE_KEY, QUERY_MISSING_VALUE

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def _parsed(text: str, minor: int = 39) -> CandidateQuery:
    return parse_candidate_query(QueryDict(text), minor)


def _group(text: str, minor: int = 39) -> RequestGroup:
    (group,) = _parsed(text, minor).groups
    return group


def _fault(text: str, minor: int = 39) -> ApiFault:
    with pytest.raises(ApiFault) as caught:
        _parsed(text, minor)
    assert caught.value.status == 400
    return caught.value


def test_plain_query_is_one_group_without_suffix() -> None:
    assert _parsed("resources=VCPU:2,DISK_GB:5&limit=3") == CandidateQuery(
        groups=(RequestGroup(resources={"VCPU": 2, "DISK_GB": 5}),), limit=3
    )


def test_members_of_a_group_are_found_by_suffix() -> None:
    group = _group(f"resources_N=VCPU:1&required_N=A,!B&required_N=in:C,D&member_of_N=in:{A},{B}&in_tree_N={C}")
    assert group == RequestGroup(
        suffix="_N",
        resources={"VCPU": 1},
        required=(frozenset({"A"}), frozenset({"C", "D"})),
        forbidden=frozenset({"B"}),
        member_of=(frozenset({A, B}),),
        in_tree=C,
    )


def test_groups_come_in_the_order_of_their_suffixes() -> None:
    query = _parsed("required2=A&resources=VCPU:1&resources2=VCPU:1&resources1=VCPU:1&group_policy=isolate")
    assert [group.suffix for group in query.groups] == ["2", "", "1"]
    assert query.group_policy == "isolate"


def test_of_repeated_resources_and_trees_the_last_counts() -> None:
    group = _group(f"resources=VCPU:1&resources=VCPU:2&in_tree={A}&in_tree={B}")
    assert (group.resources, group.in_tree) == ({"VCPU": 2}, B)


@pytest.mark.parametrize("more", ["resources=VCPU:x", "in_tree=x"])
def test_of_repeated_resources_and_trees_each_is_judged(more: str) -> None:
    _fault(f"{more}&resources=VCPU:2&in_tree={A}")


def test_before_1_39_the_last_required_counts() -> None:
    text = "resources=VCPU:1&required=A&required=B"
    assert _group(text, 38).required == (frozenset({"B"}),)
    assert _group(text, 39).required == (frozenset({"A"}), frozenset({"B"}))


def test_repeated_member_of_must_all_hold() -> None:
    group = _group(f"resources=VCPU:1&member_of={A}&member_of=!{B}&member_of=!in:{B},{C}")
    assert (group.member_of, group.forbidden_aggregates) == ((frozenset({A}),), frozenset({B, C}))


def test_suffixes_are_numbers_before_1_33() -> None:
    assert _fault("resources_A=VCPU:1", 32).code == ""  # the wire says UNDEFINED
    assert _group("resources10=VCPU:1", 32).suffix == "10"


def test_root_traits_are_split() -> None:
    query = _parsed("resources=VCPU:1&root_required=A,!B")
    assert query.root_required == {"A"}
    assert query.root_forbidden == {"B"}


def test_root_knows_no_alternatives() -> None:
    assert "only supported since" in str(_fault("resources=VCPU:1&root_required=in:A,B"))


def test_root_traits_that_contradict_are_a_bad_value() -> None:
    assert _fault("resources=VCPU:1&root_required=A,!A").code == QUERY_BAD_VALUE


def test_repeated_root_traits_are_a_duplicate_key() -> None:
    assert _fault("resources=VCPU:1&root_required=A&root_required=B").code == QUERY_DUPLICATE_KEY


def test_subtrees_are_sets_of_suffixes() -> None:
    text = "resources1=VCPU:1&required_X=A&resources=VCPU:1&group_policy=none&same_subtree=1, _X&same_subtree=1"
    assert _parsed(text).same_subtree == (frozenset({"1", "_X"}), frozenset({"1"}))


@pytest.mark.parametrize("subtree", ["", ",1", "1,"])
def test_subtree_of_the_group_without_suffix_is_a_bad_value(subtree: str) -> None:
    assert _fault(f"resources1=VCPU:1&same_subtree={subtree}").code == QUERY_BAD_VALUE


def test_subtree_of_a_group_that_is_none_is_a_bad_value() -> None:
    fault = _fault("resources1=VCPU:1&same_subtree=1,_X")
    assert fault.code == QUERY_BAD_VALUE
    assert "Real suffixes should be specified in `same_subtree`: ['_X'] not found in ['1']" in str(fault)


def test_group_without_resources_must_be_in_a_subtree() -> None:
    assert _fault("resources1=VCPU:1&required2=A&group_policy=none").code == QUERY_BAD_VALUE


@pytest.mark.parametrize("text", ["", "required1=A&same_subtree=1"])
def test_no_resources_at_all_are_a_missing_value(text: str) -> None:
    assert _fault(text).code == QUERY_MISSING_VALUE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resources2=VCPU:1&required=A&required1=A", "orphaned traits keys: required, required1"),
        (f"resources2=VCPU:1&member_of={A}&member_of3=!{A}", "orphaned member_of keys: member_of, member_of3"),
        (f"resources=VCPU:1&in_tree1={A}", "All request groups must specify resources."),
        ("resources=VCPU:1&required1=!A", "All request groups must specify resources."),
        ("", "At least one request group (`resources` or `resources{$S}`) is required."),
    ],
)
def test_before_1_36_each_group_has_resources(text: str, message: str) -> None:
    assert message in str(_fault(text, 35))


def test_trait_both_required_and_forbidden_is_a_conflict() -> None:
    fault = _fault("resources=VCPU:1&required=A,B,!A&resources1=VCPU:1&required1=in:C,D&required1=!C,!D")
    assert "keys: required1: (C, D), required: (A)" in str(fault)


def test_alternative_that_is_left_is_no_conflict() -> None:
    assert _group("resources=VCPU:1&required=in:C,D&required=!C").forbidden == {"C"}


def test_two_suffixed_groups_need_a_policy() -> None:
    assert '"group_policy" parameter is required' in str(_fault("resources1=VCPU:1&resources2=VCPU:1"))
    assert _parsed("resources=VCPU:1&resources1=VCPU:1").group_policy is None


def test_amounts_are_bounded_above_any_inventory() -> None:
    assert _group(f"resources=VCPU:{10**30}").resources == {"VCPU": MAX_INT + 1}


@pytest.mark.parametrize(("minor", "nested"), [(28, False), (29, True)])
def test_trees_are_known_from_1_29_on(minor: int, nested: bool) -> None:
    assert _parsed("resources=VCPU:1", minor).nested is nested


def test_names_are_collected_from_all_groups() -> None:
    query = _parsed("resources=VCPU:1&required=A,!B&resources1=DISK_GB:1&required1=in:C,D&root_required=E,!F")
    assert classes_asked(query) == {"VCPU", "DISK_GB"}
    assert traits_asked(query) == set("ABCDEF")
