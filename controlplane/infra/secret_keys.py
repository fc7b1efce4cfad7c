"""The installation's SECRET_KEY and those before it, and what is hashed with them.

What is made anew is made with the first key alone; what was made earlier, or by a process that has another first key
while the key is being changed, counts if any of them made it.
"""

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac


def secret_keys() -> tuple[str, ...]:
    """The key to make things with, then the SECRET_KEY_FALLBACKS."""
    return (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


def keyed_hash(value: str | bytes, *, salt: str) -> str:
    """SHA-256 in hexadecimal digits, by the first key."""
    return _hash(value, salt, settings.SECRET_KEY)


def is_keyed_hash(given: str, value: str | bytes, *, salt: str) -> bool:
    """Whether `given` is the hash of this value by any of the keys."""
    return any(constant_time_compare(given, _hash(value, salt, key)) for key in secret_keys())


def _hash(value: str | bytes, salt: str, key: str) -> str:
    return salted_hmac(salt, value, secret=key, algorithm="sha256").hexdigest()
