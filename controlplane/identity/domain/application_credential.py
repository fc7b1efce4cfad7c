"""Application credentials as text: how secrets are made and hashed, and which roles one has.

A secret that is made here is 32 random bytes. One that somebody brings along has to be as long, because one round of
SHA-256 is all that stands between a reader of the database and a secret that can be guessed.
"""

import hashlib
import secrets
from collections.abc import Iterable

from controlplane.identity.domain.role import Role

RANDOM_BYTES = 32
MIN_SECRET_CHARS = 32
NAME_MAX, DESCRIPTION_MAX, SECRET_MAX = 255, 255, 255


def new_secret() -> str:
    """A fresh secret. It is shown once and never stored."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def secret_digest(secret: str) -> str:
    """What is stored: 64 hexadecimal digits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def is_secret_right(secret: str, digest: str) -> bool:
    """Whether this is the secret. It takes the same time for each wrong one."""
    return secrets.compare_digest(secret_digest(secret), digest)


def roles_text(roles: Iterable[Role]) -> str:
    """Roles as a row holds them: names with commas, the least powerful first."""
    return ",".join(role.value for role in sorted(set(roles)))


def roles_of_text(text: str) -> frozenset[Role]:
    """The roles of a row."""
    return frozenset(Role(name) for name in text.split(",") if name)


def roles_in_force(*, held: frozenset[Role], named: frozenset[Role]) -> frozenset[Role]:
    """The roles of a token that a credential with the roles `named` gave, whose owner has `held` now.

    It has all of them or none: a credential whose owner lost one of its roles is good for nothing.
    """
    return named if all(any(one.includes(role) for one in held) for role in named) else frozenset()
