"""Secrets of webhooks at rest: encrypted with a key made from the installation's SECRET_KEY."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from controlplane.kernel.errors import Invalid

PURPOSE = b"kilonova webhook secrets"


def secret_encrypt(secret: str) -> str:
    """The secret in a form that is safe in tables, dumps and logs."""
    return _box().encrypt(secret.encode()).decode()


def secret_decrypt(encrypted: str) -> str:
    """The inverse. Raises Invalid when it was immutable under another SECRET_KEY."""
    try:
        return _box().decrypt(encrypted.encode()).decode()
    except InvalidToken as error:
        raise Invalid("The secret was stored under another SECRET_KEY: set it anew.", field="secret") from error


def _box() -> Fernet:
    key = hashlib.blake2b(settings.SECRET_KEY.encode(), key=PURPOSE, digest_size=32).digest()
    return Fernet(base64.urlsafe_b64encode(key))
