"""Rules about neighbours, as a claim asks them: who was there before, and who comes."""

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.neighbours import (
    DIFFERENT_HOST,
    NO_RULES,
    TYPE_AFFINITY,
    Neighbour,
    NeighbourRules,
    neighbour_refusal,
    neighbour_rules,
)
from scheduling.domain.request.group_counts import LEGACY_AFFINITY, LEGACY_ANTI_AFFINITY
from scheduling.filters.registry import BUILT_IN

THERE = [
    Neighbour("a", "h1", "small", is_busy=True),
    Neighbour("b", "h1", "small"),
    Neighbour("stray"),
    Neighbour("me", flavor_id="small", is_busy=True),
]
ME = frozenset({"me"})


@pytest.mark.parametrize(
    ("rules", "reason", "wanted", "available"),
    [
        (NeighbourRules(max_instances=3), RefusalReason.NUM_INSTANCES, 3, 3),
        (NeighbourRules(max_io_ops=1), RefusalReason.IO_OPS, 1, 1),
        (NeighbourRules(flavor_id="large"), RefusalReason.OTHER_FLAVOR_ON_HOST, "large", "small"),
        (NeighbourRules(apart_from=frozenset({"b", "z"})), RefusalReason.NOT_DIFFERENT_HOST, None, "b"),
    ],
)
def test_rule_that_breaks_is_said_with_what_was_there_before(
    rules: NeighbourRules, reason: RefusalReason, wanted: object, available: object
) -> None:
    refusal = neighbour_refusal(rules, THERE, ME)
    assert refusal is not None
    assert (refusal.reason, refusal.wanted, refusal.available) == (reason, wanted, available)


@pytest.mark.parametrize(
    "rules",
    [
        NO_RULES,
        NeighbourRules(max_instances=4, max_io_ops=2, flavor_id="small", apart_from=frozenset({"z", "me"})),
    ],
)
def test_rule_that_holds_refuses_nothing(rules: NeighbourRules) -> None:
    assert neighbour_refusal(rules, THERE, ME) is None


def test_all_of_a_batch_count_also_where_nobody_knows_them() -> None:
    refusal = neighbour_refusal(NeighbourRules(max_io_ops=1), [Neighbour("me"), Neighbour("you")], ME | {"you"})
    assert refusal is not None
    assert (refusal.wanted, refusal.available) == (1, 0)


def test_limits_of_other_names_are_no_rules() -> None:
    assert neighbour_rules({"memory_mb": 4.0}, {}) == NO_RULES


def test_filters_are_called_as_the_registry_calls_them() -> None:
    assert {TYPE_AFFINITY, DIFFERENT_HOST, LEGACY_AFFINITY, LEGACY_ANTI_AFFINITY} <= BUILT_IN.keys()
