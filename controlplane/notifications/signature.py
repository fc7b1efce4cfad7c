"""The signature of what webhooks are sent: HMAC-SHA256 over the time and the body, so that neither can be changed."""

import hashlib
import hmac

SIGNATURE_HEADER = "X-Kilonova-Signature"


def signature(*, secret: str, timestamp: int, body: bytes) -> str:
    """The header's value: `t=SECONDS,v1=HEX`; seconds since 1970 are part of what is signed."""
    return f"t={timestamp},v1={_digest(secret, timestamp, body)}"


def signature_fits(*, secret: str, header: str, body: bytes, now: float, tolerance_s: float = 300.0) -> bool:
    """What a receiver does: is the header one of ours, over this body, and not older than `tolerance_s`?"""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    if not parts.get("t", "").isdecimal():
        return False
    timestamp = int(parts["t"])
    is_fresh = abs(now - timestamp) <= tolerance_s
    return is_fresh and hmac.compare_digest(_digest(secret, timestamp, body), parts.get("v1", ""))


def _digest(secret: str, timestamp: int, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
