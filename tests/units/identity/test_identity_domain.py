"""Roles, policy, throttle, tokens, addresses: rules without a database."""

import uuid

import pytest

from controlplane.identity.domain import Caller, Role
from controlplane.identity.domain.access_rules import ANYBODY, DEFAULT_RULES
from controlplane.identity.domain.address import client_address
from controlplane.identity.domain.policy import UnknownActionError, allows, min_role, require
from controlplane.identity.domain.throttle import FORGOTTEN_AFTER_S, FREE_FAILURES, LONGEST_WAIT_S, login_wait_s
from controlplane.identity.domain.token import new_token, token_digest
from controlplane.kernel.errors import Forbidden


def caller(*roles: Role) -> Caller:
    return Caller(uuid.uuid4(), "mary", uuid.uuid4(), "demo", frozenset(roles))


def test_roles_compare_by_power_not_by_spelling() -> None:
    assert sorted([Role.ADMIN, Role.READER, Role.MEMBER]) == [Role.READER, Role.MEMBER, Role.ADMIN]
    assert max(Role) is Role.ADMIN


@pytest.mark.parametrize(
    ("role", "writes", "rules"),
    [
        (Role.READER, False, False),
        (Role.MEMBER, True, False),
        (Role.MANAGER, True, False),
        (Role.ADMIN, True, True),
        (Role.SERVICE, False, False),
    ],
)
def test_higher_role_includes_the_lower_ones(role: Role, writes: bool, rules: bool) -> None:
    held = caller(role)
    assert (held.can_write, held.is_admin) == (writes, rules)


def test_caller_without_a_role_may_do_nothing() -> None:
    assert not any(allows(caller(), action) for action in DEFAULT_RULES)


def test_each_action_is_allowed_from_its_least_role_on_and_to_services_that_it_names() -> None:
    for action, rule in DEFAULT_RULES.items():
        for role in (Role.READER, Role.MEMBER, Role.MANAGER, Role.ADMIN):
            assert allows(caller(role), action) is (role >= min_role(action)), (action, role)
        assert allows(caller(Role.SERVICE), action) is (Role.SERVICE in rule.who), action
        assert rule.description.endswith("."), action
        assert Role.SERVICE not in rule.who or rule.who == ANYBODY or min_role(action) is Role.ADMIN, action


def test_service_is_in_no_other_role_and_none_is_in_it() -> None:
    others = [role for role in Role if role is not Role.SERVICE]
    assert not any(Role.SERVICE.includes(role) or role.includes(Role.SERVICE) for role in others)
    assert Role.SERVICE.includes(Role.SERVICE)


def test_refusal_names_action_role_needed_and_role_held() -> None:
    with pytest.raises(Forbidden) as refused:
        require(caller(Role.READER), "instances:create")
    assert "instances:create needs the role member" in refused.value.message
    assert refused.value.extra == {"action": "instances:create", "needed": "member", "held": ["reader"]}


def test_unknown_action_is_an_error_of_the_program_even_for_an_admin() -> None:
    with pytest.raises(UnknownActionError):
        allows(caller(Role.ADMIN), "instances:reed")


def test_first_failures_cost_nothing() -> None:
    assert all(login_wait_s(failures=n, since_last_s=0) == 0 for n in range(FREE_FAILURES))


def test_wait_doubles_up_to_a_minute() -> None:
    waits = [login_wait_s(failures=FREE_FAILURES + n, since_last_s=0) for n in range(8)]
    assert waits == [2, 4, 8, 16, 32, LONGEST_WAIT_S, LONGEST_WAIT_S, LONGEST_WAIT_S]


def test_a_million_failures_still_wait_a_minute() -> None:
    assert login_wait_s(failures=1_000_000, since_last_s=0) == LONGEST_WAIT_S


@pytest.mark.parametrize(("since_last_s", "wait"), [(0.0, 2), (0.5, 2), (1.2, 1), (2.0, 0), (FORGOTTEN_AFTER_S, 0)])
def test_wait_shrinks_as_time_passes(since_last_s: float, wait: int) -> None:
    assert login_wait_s(failures=FREE_FAILURES, since_last_s=since_last_s) == wait


def test_tokens_are_long_and_never_alike() -> None:
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(token.startswith("kn_") and len(token) >= 43 for token in made)


@pytest.mark.parametrize("text", ["", "é", "\udcff", "x" * 100_000])
def test_any_text_has_a_digest(text: str) -> None:
    assert len(token_digest(text)) == 64


@pytest.mark.parametrize(
    ("forwarded_for", "trusted", "address"),
    [
        ("", 0, "10.0.0.1"),
        ("6.6.6.6", 0, "10.0.0.1"),
        ("6.6.6.6, 1.2.3.4", 1, "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4, 10.0.0.9", 2, "1.2.3.4"),
        ("1.2.3.4", 3, "1.2.3.4"),
        ("", 1, "10.0.0.1"),
    ],
)
def test_forwarded_address_counts_only_behind_trusted_proxies(forwarded_for: str, trusted: int, address: str) -> None:
    assert client_address(remote="10.0.0.1", forwarded_for=forwarded_for, trusted_proxies=trusted) == address
