"""What the installation signs so that others know it for its own: Ed25519, by a key made from its SECRET_KEY.

The fallbacks of SECRET_KEY sign nothing, and need not: whoever verifies is given the public key with what it signed.
"""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings


def sign(content: bytes, *, purpose: bytes) -> str:
    """The signature in base64."""
    return base64.b64encode(_key(purpose).sign(content)).decode()


def verify_key(*, purpose: bytes) -> str:
    """The public key, raw, in base64: no secret. It changes with SECRET_KEY."""
    return base64.b64encode(_key(purpose).public_key().public_bytes_raw()).decode()


def _key(purpose: bytes) -> Ed25519PrivateKey:
    seed = hashlib.blake2b(settings.SECRET_KEY.encode(), key=purpose, digest_size=32).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)
