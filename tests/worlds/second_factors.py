"""People with an authenticator app."""

import time

import pyotp

from controlplane.identity.domain.second_factor import STEP_S
from controlplane.identity.models import SecondFactor, User
from controlplane.identity.selectors.second_factors import secret_begun
from controlplane.identity.services import second_factor_begin, second_factor_confirm


def code_of(secret: str, *, later: int = 0) -> str:
    """The code that an app shows, or the one `later` steps after."""
    return pyotp.TOTP(secret).generate_otp(int(time.time() // STEP_S) + later)


def set_up(user: User) -> tuple[str, list[str]]:
    """A second factor: its secret and recovery codes. The code of now counts once more."""
    second_factor_begin(user=user)
    secret = secret_begun(user=user)
    assert secret is not None
    codes = second_factor_confirm(user=user, code=code_of(secret))
    SecondFactor.objects.update(last_step=0)
    return secret, codes
