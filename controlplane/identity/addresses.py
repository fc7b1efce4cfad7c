"""Where a request comes from, by this installation's settings."""

from collections.abc import Mapping
from typing import Any

from controlplane.identity.conf import identity_options
from controlplane.identity.domain.address import client_address


def address_of(meta: Mapping[str, Any]) -> str:
    """The client's address from a request's META; X-Forwarded-For counts only as far as proxies are trusted."""
    return client_address(
        remote=str(meta.get("REMOTE_ADDR", "")),
        forwarded_for=str(meta.get("HTTP_X_FORWARDED_FOR", "")),
        trusted_proxies=identity_options().trusted_proxies,
    )
