"""What groups outside are here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.identity.domain import Role
from controlplane.identity.domain.outside import (
    OutsideGroupRule,
    group_rules,
    group_rules_problem,
    is_superuser_by_groups,
    roles_of_groups,
)

RULES = group_rules(["cn=ops=lab:member", "ops=lab:reader", "chiefs=superuser"])


def test_rules_are_read_from_the_right() -> None:
    assert RULES[0] == OutsideGroupRule("cn=ops", "lab", Role.MEMBER)
    assert group_rules(["g=a:b:admin"]) == (OutsideGroupRule("g", "a:b", Role.ADMIN),)


@pytest.mark.parametrize("word", ["ops", "=lab:member", "ops=lab", "ops=lab:king", "ops=:member", "ops="])
def test_rule_that_says_nothing_stops_the_start(word: str) -> None:
    assert group_rules_problem((word,)).startswith("must be rules")


@given(st.sets(st.sampled_from(["cn=ops", "ops", "chiefs", "others"])))
def test_only_groups_that_a_rule_names_give_anything(groups: set[str]) -> None:
    roles = roles_of_groups(RULES, groups)
    assert (("lab", Role.MEMBER) in roles) == ("cn=ops" in groups)
    assert (("lab", Role.READER) in roles) == ("ops" in groups)
    assert is_superuser_by_groups(RULES, groups) == ("chiefs" in groups)
