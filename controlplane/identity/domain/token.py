"""API tokens as text: how they are made, recognised and hashed.

A token is 32 random bytes, so one round of SHA-256 is enough to store it: there is nothing to guess, and a reader
of the database cannot use what he reads. The prefix lets secret scanners and people recognise a leaked one.
"""

import hashlib
import secrets

PREFIX = "kn_"
RANDOM_BYTES = 32


def new_token() -> str:
    """A fresh token. It is shown once and never stored."""
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def token_digest(token: str) -> str:
    """What is stored and looked up: 64 hexadecimal digits. Any text is accepted; a foreign one matches no row."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
