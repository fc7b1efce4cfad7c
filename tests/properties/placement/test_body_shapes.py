"""The short way to recognise a body never says yes where the schema says no, and says yes to what clients send."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.openstack.quick_schema import QuickSchema
from controlplane.openstack.schemas import CompiledSchema
from placement.openstack.allocation_schemas import MANY, ONE, schema_at
from placement.openstack.candidate_schemas import CANDIDATES

DICT_MINORS = (12, 13, 27, 28, 33, 34, 37, 38, 39)
KINDS = ["resources", "required", "member_of", "in_tree"]
PARAMETERS = [*KINDS, "root_required", "same_subtree", "group_policy", "limit", "resources1", "resources_A", "bogus"]
PARAMETER_VALUES = ["", "1", "0", "01", "1\n", "-1", "none", "VCPU:1"]

_uuids = st.uuids().map(str)
_keys = st.one_of(_uuids, st.just("-" * 36), st.text(alphabet="0aF-", max_size=37), st.just("f" * 36 + "\n"))
_names = st.one_of(st.sampled_from(["VCPU", "CUSTOM_A", "low", "", "A\n", "A" * 256]), st.text(max_size=3))
_odd = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2**70), st.floats(), st.text(max_size=3), st.just([]), st.just({})
)
_amounts = st.one_of(st.integers(1, 9), _odd)
_resources = st.one_of(st.dictionaries(_names, _amounts, max_size=2), _odd)
_entries = st.one_of(
    st.fixed_dictionaries({"resources": _resources}, optional={"generation": _odd, "other": _odd}), _odd
)
_allocations = st.one_of(st.dictionaries(_keys, _entries, max_size=2), _odd)
_owners = st.one_of(st.sampled_from(["p", "", "a\0b", "x" * 255, "x" * 256]), _odd)
_mappings = st.one_of(
    st.dictionaries(st.sampled_from(["", "1", "_A", "?"]), st.one_of(st.lists(_keys, max_size=2), _odd), max_size=2),
    _odd,
)
_bodies = st.one_of(
    st.fixed_dictionaries(
        {"allocations": _allocations, "project_id": _owners, "user_id": _owners},
        optional={
            "consumer_generation": _odd,
            "consumer_type": st.one_of(_names, _odd),
            "mappings": _mappings,
            "other": _odd,
        },
    ),
    _odd,
)


def _usual(minor: int, uuid: str) -> dict[str, Any]:
    newer: tuple[tuple[int, dict[str, Any]], ...] = (
        (28, {"consumer_generation": None}),
        (34, {"mappings": {"": [uuid]}}),
        (38, {"consumer_type": "INSTANCE"}),
    )
    body: dict[str, Any] = {
        "allocations": {uuid: {"resources": {"VCPU": 1, "MEMORY_MB": 512}}},
        "project_id": "p",
        "user_id": "u",
    }
    for since, more in newer:
        body |= more if minor >= since else {}
    return body


def _quick(schema: CompiledSchema) -> QuickSchema:
    assert isinstance(schema, QuickSchema)
    return schema


def _agrees(schema: CompiledSchema, value: Any) -> bool:
    """The answer is the same with and without the short way."""
    alone = CompiledSchema.complaint(schema, value) is None
    return (schema.complaint(value) is None) is alone


@pytest.mark.parametrize("minor", DICT_MINORS)
@given(body=_bodies)
def test_body_of_one_consumer_is_judged_as_by_the_schema(minor: int, body: Any) -> None:
    assert _agrees(schema_at(ONE, minor), body)


@pytest.mark.parametrize("minor", DICT_MINORS[1:])
@given(bodies=st.one_of(st.dictionaries(_keys, _bodies, max_size=2), _odd))
def test_bodies_of_several_consumers_are_judged_as_by_the_schema(minor: int, bodies: Any) -> None:
    assert _agrees(schema_at(MANY, minor), bodies)


@pytest.mark.parametrize("minor", DICT_MINORS)
@given(uuid=_uuids)
def test_usual_body_is_recognised(minor: int, uuid: str) -> None:
    assert _quick(schema_at(ONE, minor)).is_recognised(_usual(minor, uuid))


@pytest.mark.parametrize("minor", DICT_MINORS)
@given(
    uuid=_uuids,
    member=st.sampled_from([*_usual(39, ""), "other"]),
    value=st.one_of(_allocations, _owners, _mappings, _names, _odd),
)
def test_usual_body_with_one_odd_member_is_judged_as_by_the_schema(
    minor: int, uuid: str, member: str, value: Any
) -> None:
    assert _agrees(schema_at(ONE, minor), _usual(minor, uuid) | {member: value})


@pytest.mark.parametrize("minor", [25, 31, 33, 35, 36, 39])
@given(query=st.dictionaries(st.sampled_from(PARAMETERS), st.sampled_from(PARAMETER_VALUES)))
def test_query_is_judged_as_by_the_schema(minor: int, query: dict[str, str]) -> None:
    assert _agrees(schema_at(CANDIDATES, minor), query)
