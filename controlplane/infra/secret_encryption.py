"""Secrets at rest: encrypted with keys made from the installation's SECRET_KEY, one for each purpose."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _


def secret_encrypt(secret: str, *, purpose: bytes) -> str:
    """The secret in a form that is safe in tables, dumps and logs."""
    return _box(purpose).encrypt(secret.encode()).decode()


def secret_decrypt(encrypted: str, *, purpose: bytes) -> str:
    """The inverse. Raises Invalid when it was encrypted under another SECRET_KEY."""
    try:
        return _box(purpose).decrypt(encrypted.encode()).decode()
    except InvalidToken as error:
        raise Invalid(_("The secret was stored under another SECRET_KEY: set it anew."), field="secret") from error


def _box(purpose: bytes) -> Fernet:
    key = hashlib.blake2b(settings.SECRET_KEY.encode(), key=purpose, digest_size=32).digest()
    return Fernet(base64.urlsafe_b64encode(key))
