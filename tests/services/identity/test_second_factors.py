"""The second factor as services know it: sealed, used once, braked, and asked for where a password comes in."""

from typing import Any

import pytest
from django.db import connection

from controlplane.identity.domain import LoginRefused, LoginThrottled, SecondFactorNeeded
from controlplane.identity.models import RecoveryCode, SecondFactor, User
from controlplane.identity.selectors import caller_for_token
from controlplane.identity.selectors.second_factors import second_factor_of, secret_begun
from controlplane.identity.services import (
    recovery_codes_renew,
    second_factor_begin,
    second_factor_check,
    second_factor_confirm,
    second_factor_give_up,
    second_factor_remove,
    token_issue,
)
from controlplane.kernel.errors import Conflict, InvalidFields, NotFound
from tests.worlds import cloud as world
from tests.worlds.second_factors import code_of, set_up

pytestmark = pytest.mark.django_db


@pytest.fixture
def mary() -> User:
    world.people()
    return User.objects.get(username="mary")


def begun(user: User) -> str:
    second_factor_begin(user=user)
    secret = secret_begun(user=user)
    assert secret is not None
    return secret


def test_secret_and_recovery_codes_are_in_no_row_as_they_are(mary: User) -> None:
    secret, codes = set_up(mary)
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed_secret FROM identity_secondfactor")
        assert secret not in cursor.fetchone()[0]
        cursor.execute("SELECT digest FROM identity_recoverycode")
        assert not {row[0] for row in cursor.fetchall()} & {*codes, *(one.replace("-", "") for one in codes)}


def test_secret_counts_from_its_first_code_on(mary: User) -> None:
    secret = begun(mary)
    assert second_factor_of(user=mary) is None
    with pytest.raises(InvalidFields):
        second_factor_confirm(user=mary, code="000000" if code_of(secret) != "000000" else "111111")
    assert second_factor_of(user=mary) is None
    token_issue(username="mary", password=world.PASSWORD)
    second_factor_confirm(user=mary, code=code_of(secret))
    assert second_factor_of(user=mary) is not None
    with pytest.raises(Conflict):
        second_factor_begin(user=mary)


def test_code_counts_once(mary: User) -> None:
    secret, _ = set_up(mary)
    code = code_of(secret)
    second_factor_check(user=mary, code=code)
    with pytest.raises(InvalidFields):
        second_factor_check(user=mary, code=code)
    with pytest.raises(InvalidFields):
        second_factor_check(user=mary, code=code_of(secret, later=-1))


def test_recovery_code_counts_once_and_new_ones_end_the_old(mary: User) -> None:
    secret, codes = set_up(mary)
    second_factor_check(user=mary, code=codes[0].lower())
    with pytest.raises(InvalidFields):
        second_factor_check(user=mary, code=codes[0])
    fresh = recovery_codes_renew(user=mary, code=code_of(secret))
    with pytest.raises(InvalidFields):
        second_factor_check(user=mary, code=codes[1])
    second_factor_check(user=mary, code=fresh[1])
    assert RecoveryCode.objects.count() == 9


def test_wrong_codes_have_to_wait_and_the_right_one_with_them(mary: User) -> None:
    secret, codes = set_up(mary)
    for _ in range(5):
        with pytest.raises(InvalidFields):
            second_factor_check(user=mary, code="ABCD-ABCD-ABCD-ABC1")
    for code in (code_of(secret), codes[0]):
        with pytest.raises(LoginThrottled) as error:
            second_factor_check(user=mary, code=code)
        assert "second factor" in error.value.message
    assert token_wait() > 0


def token_wait() -> int:
    """A right password does not begin the count of codes anew."""
    with pytest.raises(LoginThrottled) as error:
        token_issue(username="mary", password=world.PASSWORD, code="123456")
    return error.value.wait_s


def test_token_is_issued_for_password_and_code_and_needs_none_itself(mary: User) -> None:
    before = token_issue(username="mary", password=world.PASSWORD)
    secret, _ = set_up(mary)
    assert caller_for_token(before.token) is not None
    with pytest.raises(SecondFactorNeeded):
        token_issue(username="mary", password=world.PASSWORD)
    with pytest.raises(LoginRefused):
        token_issue(username="mary", password="wrong", code=code_of(secret))
    issued = token_issue(username="mary", password=world.PASSWORD, code=code_of(secret))
    assert caller_for_token(issued.token) is not None


@pytest.mark.parametrize(
    ("required", "who", "is_refused"),
    [("staff", "root", True), ("staff", "mary", False), ("everybody", "mary", True)],
)
def test_who_has_to_have_one_gets_no_token_for_a_password(
    mary: User, settings: Any, required: str, who: str, is_refused: bool
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SECOND_FACTOR_REQUIRED": required}
    if is_refused:
        with pytest.raises(SecondFactorNeeded, match="set it up"):
            token_issue(username=who, password=world.PASSWORD)
    else:
        token_issue(username=who, password=world.PASSWORD)


def test_own_one_is_given_up_for_a_code_and_not_where_it_is_required(mary: User, settings: Any) -> None:
    _, codes = set_up(mary)
    with pytest.raises(InvalidFields):
        second_factor_give_up(user=mary, code="ABCD-ABCD-ABCD-ABC1")
    before = settings.KILONOVA
    settings.KILONOVA = {**before, "SECOND_FACTOR_REQUIRED": "everybody"}
    with pytest.raises(Conflict):
        second_factor_give_up(user=mary, code=codes[0])
    settings.KILONOVA = before
    second_factor_give_up(user=mary, code=codes[0])
    assert not SecondFactor.objects.exists()


def test_administrator_removes_it_once(mary: User) -> None:
    set_up(mary)
    second_factor_remove(user=mary)
    with pytest.raises(NotFound):
        second_factor_remove(user=mary)
    token_issue(username="mary", password=world.PASSWORD)
