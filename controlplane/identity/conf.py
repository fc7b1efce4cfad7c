"""Settings of identity, read once into a frozen object."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from controlplane.identity.domain import QuotaLimits


@dataclass(frozen=True, slots=True)
class IdentityOptions:
    """`token_lifetime_s`: longest and usual life of a token; `trusted_proxies`: proxies whose word is taken.

    `login_hashes`: passwords that one process hashes at once.
    """

    token_lifetime_s: float
    default_quota: QuotaLimits
    trusted_proxies: int
    login_hashes: int


def identity_options() -> IdentityOptions:
    """The options now in force; read at each call, so that tests may override settings."""
    own: dict[str, Any] = settings.KILONOVA
    return IdentityOptions(
        token_lifetime_s=float(own["TOKEN_LIFETIME_S"]),
        default_quota=QuotaLimits(
            instances=int(own["DEFAULT_QUOTA_INSTANCES"]),
            cores=int(own["DEFAULT_QUOTA_CORES"]),
            ram_mib=int(own["DEFAULT_QUOTA_RAM_MIB"]),
            images=int(own["DEFAULT_QUOTA_IMAGES"]),
            image_bytes=int(own["DEFAULT_QUOTA_IMAGE_BYTES"]),
            image_uploads=int(own["DEFAULT_QUOTA_IMAGE_UPLOADS"]),
        ),
        trusted_proxies=int(own.get("TRUSTED_PROXIES", 0)),
        login_hashes=int(own["LOGIN_HASHES"]),
    )
