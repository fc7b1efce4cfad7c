"""What the values of query parameters mean, version by version."""

from uuid import UUID, uuid4

import pytest

from controlplane.openstack.faults import ApiFault
from placement.openstack.query_values import (
    MORE_THAN_ANYBODY_HAS,
    parse_in_tree,
    parse_member_of,
    parse_required,
    parse_resources,
)

FIRST, SECOND, THIRD = uuid4(), uuid4(), uuid4()
NONE: frozenset[UUID] = frozenset()


def one(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_resources_are_amounts_by_class() -> None:
    assert parse_resources("VCPU:2,MEMORY_MB:1024") == {"VCPU": 2, "MEMORY_MB": 1024}


def test_amount_that_nobody_can_give_is_cut_to_one_that_nobody_can_give() -> None:
    assert parse_resources("VCPU:9999999999999999999999") == {"VCPU": MORE_THAN_ANYBODY_HAS}


@pytest.mark.parametrize("text", ["", " ", "VCPU", "VCPU:", "VCPU:x", "VCPU:1:2", "VCPU:0", "VCPU:-1", "VCPU:1,"])
def test_resources_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ApiFault) as caught:
        parse_resources(text)
    assert caught.value.status == 400


def test_repeated_required_adds_up_since_1_39() -> None:
    texts = ["A,!B", "in:C,D", " E "]
    assert parse_required(texts, 39) == ((one("A"), one("C", "D"), one("E")), one("B"))
    assert parse_required(texts, 38) == ((one("E"),), one())


def test_any_number_of_marks_forbids_once() -> None:
    assert parse_required(["!!!A"], 22) == ((), one("A"))


@pytest.mark.parametrize(
    ("text", "minor"), [("!A", 21), ("in:A", 38), ("in:A,!B", 39), ("in:", 39), ("", 39), ("A,,B", 39), ("!", 39)]
)
def test_required_of_another_form_is_refused(text: str, minor: int) -> None:
    with pytest.raises(ApiFault):
        parse_required([text], minor)


def test_repeated_member_of_adds_up_and_forbids_since_1_32() -> None:
    values = [str(FIRST), f"in:{FIRST},{SECOND}", f"!{THIRD}", f"!in:{SECOND}"]
    required = (frozenset({FIRST}), frozenset({FIRST, SECOND}))
    assert parse_member_of(values, 32) == (required, frozenset({SECOND, THIRD}))


def test_no_member_of_asks_for_nothing() -> None:
    assert parse_member_of([], 3) == ((), NONE)


@pytest.mark.parametrize(
    ("values", "minor", "words"),
    [
        ([str(FIRST), str(SECOND)], 23, "Multiple member_of_NET parameters"),
        ([f"!{FIRST}"], 31, "Forbidden member_of_NET parameters"),
        ([f"{FIRST},{SECOND}"], 39, "must be prefixed"),
        ([f"!{FIRST},{SECOND}"], 39, "must be prefixed"),
        (["pony"], 39, "valid UUID"),
        ([""], 39, "valid UUID"),
    ],
)
def test_member_of_of_another_form_is_refused(values: list[str], minor: int, words: str) -> None:
    with pytest.raises(ApiFault, match=words):
        parse_member_of(values, minor, "_NET")


def test_tree_is_named_by_a_provider() -> None:
    assert parse_in_tree(f" {FIRST} ") == FIRST
    with pytest.raises(ApiFault):
        parse_in_tree("pony")
