"""A query with another one for trees that lack a class: one search, each tree asked for what it states."""

from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from placement.candidates import CandidateQuery, Instead, refusal_of
from tests.worlds.forest import Forest, group, stock

PINNED = group(resources={"PCPU": 2})
FLOATING = group(resources={"VCPU": 2}, required="OLD")
RULES: dict[str, Any] = {"instead": Instead("PCPU", CandidateQuery((FLOATING,)))}


def forest() -> Forest:
    """New hosts state PCPU, one of them on a cell below it; old ones VCPU."""
    found = Forest().plant("new", PCPU=4, VCPU=8).plant("full", traits={"OLD"}, PCPU=stock(4, 3), VCPU=8)
    found = found.plant("tree", VCPU=8).plant("cell", parent="tree", PCPU=4)
    return found.plant("old", traits={"OLD"}, VCPU=8).plant("small", traits={"OLD"}, VCPU=1).plant("bare", VCPU=8)


def names(**more: Any) -> list[str]:
    return [" ".join(found_names) for found_names in forest().found(PINNED, **RULES, **more)]


def test_each_tree_is_asked_for_what_it_states() -> None:
    assert names() == ["new", "cell", "old"]


@pytest.mark.parametrize(("limit", "found"), [(1, ["new"]), (2, ["new", "cell"]), (3, ["new", "cell", "old"])])
def test_limit_counts_both_ways(limit: int, found: list[str]) -> None:
    assert names(limit=limit) == found


@pytest.mark.parametrize(
    ("name", "reason", "wanted"),
    [
        ("full", RefusalReason.RESOURCE_SHORT, 2),
        ("small", RefusalReason.VCPU_SHORT, 2),
        ("bare", RefusalReason.TRAIT_MISSING, "OLD"),
    ],
)
def test_refusal_is_that_of_the_query_that_was_asked(name: str, reason: RefusalReason, wanted: object) -> None:
    world = forest()
    refusal = refusal_of(world.columns, CandidateQuery((PINNED,), **RULES), world[name])
    assert refusal is not None
    assert (refusal.reason, refusal.wanted) == (reason, wanted)


def test_tree_that_is_a_candidate_has_no_refusal() -> None:
    world = forest()
    query = CandidateQuery((PINNED,), **RULES)
    assert [refusal_of(world.columns, query, world[name]) for name in ("new", "tree", "old")] == [None] * 3


def test_class_that_is_shared_is_stated() -> None:
    world = Forest().plant("pool", traits={"MISC_SHARES_VIA_AGGREGATE"}, aggregates={1}, PCPU=1)
    world = world.plant("host", traits={"OLD"}, aggregates={1}, VCPU=8)
    refusal = refusal_of(world.columns, CandidateQuery((PINNED,), **RULES), world["host"])
    assert refusal is not None
    assert refusal.reason is RefusalReason.RESOURCE_SHORT
