"""Codes by time and recovery codes, without rows."""

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.identity.domain.second_factor import (
    STEP_S,
    enrolment_uri,
    is_recovery_code,
    matching_step,
    new_recovery_codes,
    new_secret,
    plain_code,
    recovery_digest,
)

SECRET = new_secret()
NOW = 1_800_000_000.0


def code(step: int) -> str:
    return pyotp.TOTP(SECRET).generate_otp(step)


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_code_counts_in_its_step_and_the_neighbours_and_only_after_the_last_used(offset: int, used: int) -> None:
    step = int(NOW // STEP_S)
    found = matching_step(SECRET, code(step + offset), at=NOW, after=step + used)
    assert found == (step + offset if abs(offset) <= 1 and offset > used else None)


@given(st.text(max_size=40))
def test_any_text_is_a_code_that_is_wrong_and_never_a_failure(text: str) -> None:
    assert matching_step(SECRET, text, at=NOW, after=2**40) is None
    assert len(recovery_digest(text)) == 64


def test_secret_is_what_rfc_6238_says() -> None:
    """Appendix B, SHA-1, the last six of eight digits."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    assert matching_step(secret, "287 082", at=59.0, after=0) == 1
    assert matching_step(secret, "081804", at=1111111109.0, after=0) == 37037036


def test_recovery_codes_are_told_from_others_however_they_are_typed() -> None:
    codes = new_recovery_codes()
    assert len(set(codes)) == 10
    assert all(is_recovery_code(one) for one in codes)
    assert recovery_digest(codes[0]) == recovery_digest(f" {codes[0].replace('-', '').lower()} ")
    assert not is_recovery_code("123456")


@pytest.mark.parametrize(("typed", "plain"), [(" 123 456 ", "123456"), ("abcd-efgh", "ABCDEFGH")])
def test_spaces_and_dashes_do_not_count(typed: str, plain: str) -> None:
    assert plain_code(typed) == plain


def test_address_for_apps_names_the_user_and_the_installation() -> None:
    uri = enrolment_uri(SECRET, username="mary", issuer="Kilonova")
    assert uri.startswith("otpauth://totp/Kilonova:mary?")
    assert SECRET in uri
