"""The second factor: one-time passwords by time (RFC 6238), and the recovery codes for whoever lost the device.

A recovery code is 80 random bits, so one round of SHA-256 is enough to store it: there is nothing to guess.
"""

import hashlib
import secrets

import pyotp

STEP_S = 30
NEIGHBOURS = 1
"""Steps before and after the current one whose codes count too: clocks differ, and people type slowly."""
RECOVERY_CODES = 10
_GROUPS, _GROUP_CHARS = 4, 4
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
RECOVERY_CHARS = _GROUPS * _GROUP_CHARS


def new_secret() -> str:
    """A fresh secret, 160 bits in base 32 as authenticator apps take it."""
    return pyotp.random_base32()


def enrolment_uri(secret: str, *, username: str, issuer: str) -> str:
    """What the QR code says: an app reads it, and shows the code under these names."""
    return pyotp.TOTP(secret, interval=STEP_S).provisioning_uri(name=username, issuer_name=issuer)


def plain_code(typed: str) -> str:
    """A code as people type it, without its spaces and dashes, in capitals."""
    return "".join(typed.split()).replace("-", "").upper()


def is_recovery_code(typed: str) -> bool:
    """Whether this has the form of a recovery code; every other text is taken for a one-time password."""
    return len(plain_code(typed)) == RECOVERY_CHARS


def matching_step(secret: str, typed: str, *, at: float, after: int) -> int | None:
    """The time step that this code is of: the one of `at` (seconds since 1970) or a neighbour.

    None for a wrong code, and for every step up to `after`, the last one used: no code counts twice.
    """
    totp, now = pyotp.TOTP(secret, interval=STEP_S), int(at // STEP_S)
    found = None
    for step in range(now - NEIGHBOURS, now + NEIGHBOURS + 1):
        # All are compared, so that the time taken says nothing.
        is_it = secrets.compare_digest(
            totp.generate_otp(step).encode(), plain_code(typed).encode("utf-8", "backslashreplace")
        )
        if is_it and step > after:
            found = step
    return found


def new_recovery_codes() -> list[str]:
    """Fresh codes. They are shown once; of each only the digest is stored."""
    return [_recovery_code() for _ in range(RECOVERY_CODES)]


def _recovery_code() -> str:
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_CHARS)) for _ in range(_GROUPS))
    return "-".join(groups)


def recovery_digest(typed: str) -> str:
    """What is stored and looked up."""
    return hashlib.sha256(plain_code(typed).encode("utf-8", "backslashreplace")).hexdigest()
