"""Secrets at rest: encrypted with keys made from the installation's SECRET_KEY, one for each purpose.

Each purpose is that of one column, which is registered (`controlplane.infra.secret_columns`): so that all of them can
be encrypted anew once SECRET_KEY is another one.
"""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from controlplane.infra.secret_keys import secret_keys
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _


def secret_encrypt(secret: str, *, purpose: bytes) -> str:
    """The secret in a form that is safe in tables, dumps and logs."""
    return _boxes(purpose)[0].encrypt(secret.encode()).decode()


def secret_decrypt(encrypted: str, *, purpose: bytes) -> str:
    """The inverse. Raises Invalid when neither SECRET_KEY nor one of its fallbacks opens it."""
    try:
        return MultiFernet(_boxes(purpose)).decrypt(encrypted.encode()).decode()
    except InvalidToken as error:
        raise _unreadable() from error


def secret_renew(encrypted: str, *, purpose: bytes) -> str:
    """The same secret under the present SECRET_KEY: the same text where it is already. Raises as `secret_decrypt`."""
    boxes = _boxes(purpose)
    try:
        boxes[0].decrypt(encrypted.encode())
    except InvalidToken:
        pass
    else:
        return encrypted
    try:
        return MultiFernet(boxes).rotate(encrypted.encode()).decode()
    except InvalidToken as error:
        raise _unreadable() from error


def _unreadable() -> Invalid:
    return Invalid(
        _(
            "The secret was stored under another SECRET_KEY: an administrator has to add that one to "
            "SECRET_KEY_FALLBACKS, or to set the secret anew."
        ),
        field="secret",
    )


def _boxes(purpose: bytes) -> list[Fernet]:
    return [_box(key, purpose) for key in secret_keys()]


def _box(secret_key: str, purpose: bytes) -> Fernet:
    key = hashlib.blake2b(secret_key.encode(), key=purpose, digest_size=32).digest()
    return Fernet(base64.urlsafe_b64encode(key))
