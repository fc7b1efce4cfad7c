"""Who may read `/metrics`: whoever sends METRICS_TOKEN, and whoever asks from METRICS_ALLOW. Nobody else, no role."""

import hmac
import ipaddress
from dataclasses import dataclass

from django.http import HttpRequest

from controlplane.identity.addresses import address_of
from controlplane.identity.conf import identity_options
from controlplane.infra.conf import metrics_options

BEARER = "bearer"


@dataclass(frozen=True, slots=True)
class Denial:
    """Why not. `status` 401: a token would do; 403: nothing that the client sends would."""

    status: int
    reason: str


def metrics_denial(request: HttpRequest) -> Denial | None:
    """None when the request may read the metrics."""
    token = metrics_options().metrics_token
    sent = _sent_token(request)
    # Not `==`: how long the comparison takes must not depend on how much of a guess is right.
    is_same = bool(token and sent) and hmac.compare_digest(sent.encode(errors="surrogatepass"), token.encode())
    if is_same or _is_from_allowed_address(request):
        return None
    if not token:
        return Denial(403, "METRICS_ALLOW does not name this address, and there is no METRICS_TOKEN.")
    if sent:
        return Denial(401, "This is not the METRICS_TOKEN.")
    return Denial(401, "Send the METRICS_TOKEN: Authorization: Bearer ...")


def _sent_token(request: HttpRequest) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == BEARER else ""


def _is_from_allowed_address(request: HttpRequest) -> bool:
    """Whether the address may read. Behind a proxy that no setting names, every request would seem to come from it."""
    networks = metrics_options().metrics_allow
    is_forwarded = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    if not networks or (is_forwarded and not identity_options().trusted_proxies):
        return False
    try:
        address = ipaddress.ip_address(address_of(request.META))
    except ValueError:
        return False
    plain = getattr(address, "ipv4_mapped", None) or address
    return any(plain in ipaddress.ip_network(network) for network in networks)
