"""The signature of what webhooks are sent: HMAC-SHA256 over the time and the body, so that neither can be changed."""

import hashlib
import hmac

SIGNATURE_HEADER = "X-Kilonova-Signature"


def signature(*, secret: str, timestamp: int, body: bytes) -> str:
    """The header's value: `t=SECONDS,v1=HEX`; seconds since 1970 are part of what is signed."""
    return f"t={timestamp},v1={_digest(secret, timestamp, body)}"


def _digest(secret: str, timestamp: int, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
