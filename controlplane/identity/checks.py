"""What `manage.py check --deploy` says of how callers are known."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning  # noqa: A004 - Django's name for it

from controlplane.identity.conf import identity_options, ldap_options, oidc_options


def check_proxies_for_deploy(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Behind a proxy that is not counted all callers have one address, and share one brake on guessing."""
    is_behind_tls = bool(settings.SECURE_PROXY_SSL_HEADER) or settings.SECURE_SSL_REDIRECT
    if not is_behind_tls or identity_options().trusted_proxies:
        return []
    return [
        Warning(
            "TRUSTED_PROXIES is 0: behind a proxy every caller has the proxy's address, so that a stranger's failed "
            "log-ins make everybody wait, and HTTPS is not recognised.",
            hint="Set TRUSTED_PROXIES to the number of proxies (1 for one nginx). Where the web server itself speaks "
            "TLS, add identity.W001 to SILENCED_SYSTEM_CHECKS.",
            id="identity.W001",
        )
    ]


def check_plain_lines_for_deploy(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Passwords and people go to the directory and the provider: over lines that nobody reads."""
    found: list[CheckMessage] = []
    if any(url.startswith("ldap://") for url in ldap_options().ldap_url) and not ldap_options().ldap_start_tls:
        text = "LDAP_URL has a server without TLS and LDAP_START_TLS is no: passwords go over the network readable."
        found.append(Warning(text, hint="Set LDAP_START_TLS=yes, or use ldaps://.", id="identity.W002"))
    if oidc_options().oidc_issuer.startswith("http://"):
        text = "OIDC_ISSUER is not https: whoever is on the way decides who logs in here."
        found.append(Warning(text, hint="Use a provider that speaks HTTPS.", id="identity.W003"))
    return found
