"""Secrets of webhooks at rest."""

from controlplane.infra import secret_encryption

PURPOSE = b"kilonova webhook secrets"


def secret_encrypt(secret: str) -> str:
    """The secret in a form that is safe in tables, dumps and logs."""
    return secret_encryption.secret_encrypt(secret, purpose=PURPOSE)


def secret_decrypt(encrypted: str) -> str:
    """The inverse. Raises Invalid when it was encrypted under another SECRET_KEY."""
    return secret_encryption.secret_decrypt(encrypted, purpose=PURPOSE)
