"""People of an OpenID provider: the code flow with PKCE, state and nonce; authlib speaks the protocol.

Believed is an id token that the provider signed by a key it publishes, for this installation, with the nonce of this
very log-in, whose issuer is exactly the one that is set.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth
from django.http import HttpRequest, HttpResponse
from joserfc.errors import JoseError

from controlplane.identity.conf import OidcOptions, oidc_options
from controlplane.identity.domain import OutsiderRefused
from controlplane.identity.domain.outside import OutsidePerson, Source
from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _

log = logging.getLogger(__name__)
KNOWN_FOR_S = 3600.0
"""For how long a process goes by what the provider said of itself."""
LEFT_ALONE_S = 10.0
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair: with a shared secret, or none, everybody who has it could be anybody."""
CLOCKS_DIFFER_S = 60
AWAY = _("The provider of log-ins does not answer as it should: try again in a moment.")
NOT_BELIEVED = _("The log-in at the provider did not hold: begin anew.")


@dataclass(slots=True)
class _Provider:
    """authlib's client, and until when what it knows counts."""

    options: OidcOptions
    client: Any
    until: float


_known: dict[str, _Provider] = {}
_left_alone_until: dict[str, float] = {}


def oidc_begin(request: HttpRequest, *, redirect_uri: str) -> HttpResponse:
    """Send the browser to the provider; state, nonce and PKCE's verifier wait in its session. Raises Unavailable."""
    try:
        answer: HttpResponse = _client().authorize_redirect(request, redirect_uri)
    except (AuthlibBaseError, requests.RequestException, ValueError) as error:
        log.warning("the OpenID provider failed: %s", error)
        raise Unavailable(AWAY) from error
    return answer


def oidc_person(request: HttpRequest) -> OutsidePerson:
    """Who came back. Raises OutsiderRefused for an answer that is not believed, and Unavailable."""
    try:
        client = _client()
        _refuse_mixed_up(request, client.server_metadata)
        claims = _claims(client, client.authorize_access_token(request, **_expected(client)))
        return _person(claims)
    except requests.RequestException as error:
        log.warning("the OpenID provider failed: %s", error)
        raise Unavailable(AWAY) from error
    except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError) as error:
        log.warning("an answer of the OpenID provider is not believed: %s", error)
        raise OutsiderRefused(NOT_BELIEVED) from error


def _client() -> Any:
    """authlib's client for the provider as it is set, with what the provider says of itself checked."""
    options = oidc_options()
    known = _known.get(options.oidc_issuer)
    if known is None or known.options is not options or known.until < time.monotonic():
        client = OAuth().register("oidc", **_registration(options))
        _metadata_check(_metadata(client, options), options)
        known = _known[options.oidc_issuer] = _Provider(options, client, time.monotonic() + KNOWN_FOR_S)
    return known.client


def _metadata(client: Any, options: OidcOptions) -> dict[str, Any]:
    """What the provider says of itself. Anybody can have it asked for, so one that failed is left alone for a while."""
    if time.monotonic() < _left_alone_until.get(options.oidc_issuer, 0.0):
        raise requests.ConnectionError("it failed a moment ago, and is left alone")
    try:
        said: dict[str, Any] = client.load_server_metadata()
    except (requests.RequestException, ValueError):
        _left_alone_until[options.oidc_issuer] = time.monotonic() + LEFT_ALONE_S
        raise
    return said


def _registration(options: OidcOptions) -> dict[str, Any]:
    return {
        "client_id": options.oidc_client_id,
        "client_secret": options.oidc_client_secret or None,
        "server_metadata_url": options.oidc_issuer.rstrip("/") + "/.well-known/openid-configuration",
        "client_kwargs": {
            "scope": " ".join(options.oidc_scopes),
            "code_challenge_method": "S256",
            "default_timeout": options.oidc_timeout_s,
            **({} if options.oidc_client_secret else {"token_endpoint_auth_method": "none"}),
        },
    }


def _metadata_check(metadata: dict[str, Any], options: OidcOptions) -> None:
    if metadata.get("issuer") != options.oidc_issuer:
        raise ValueError(f"the provider calls itself {metadata.get('issuer')!r}, and OIDC_ISSUER is something else")
    offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
    metadata["id_token_signing_alg_values_supported"] = [one for one in offered if one in ALGORITHMS]


def _refuse_mixed_up(request: HttpRequest, metadata: Mapping[str, Any]) -> None:
    """RFC 9207: an answer says whose it is, so that none of another provider is taken for this one's."""
    named = request.GET.get("iss")
    if named is None and not metadata.get("authorization_response_iss_parameter_supported"):
        return
    if named != metadata["issuer"]:
        raise ValueError("the answer is of another issuer")


def _expected(client: Any) -> dict[str, Any]:
    issuer, audience = {"essential": True, "value": client.server_metadata["issuer"]}, client.client_id
    return {
        "claims_options": {"iss": issuer, "aud": {"essential": True, "value": audience}, "sub": {"essential": True}},
        "leeway": CLOCKS_DIFFER_S,
    }


def _claims(client: Any, token: Mapping[str, Any]) -> dict[str, Any]:
    """Of the id token, and beside them what the provider tells only when it is asked (userinfo)."""
    signed = dict(token["userinfo"])
    wanted = {oidc_options().oidc_username_claim, oidc_options().oidc_groups_claim, "email"}
    if wanted <= set(signed) or "userinfo_endpoint" not in client.server_metadata:
        return signed
    reported = dict(client.userinfo(token=token))
    if reported.get("sub") != signed["sub"]:
        raise ValueError("userinfo is about somebody else")
    return {**reported, **signed}


def _person(claims: Mapping[str, Any]) -> OutsidePerson:
    options = oidc_options()
    username, subject = claims.get(options.oidc_username_claim), claims["sub"]
    if not isinstance(username, str) or not username or not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise ValueError(f"no text in the claim {options.oidc_username_claim} or sub")
    email = claims.get("email")
    groups = claims.get(options.oidc_groups_claim) or []
    named = frozenset(one for one in ([groups] if isinstance(groups, str) else groups) if isinstance(one, str))
    known_as = options.oidc_issuer[:255]
    return OutsidePerson(Source.OIDC, known_as, subject, username, email if isinstance(email, str) else "", named)
