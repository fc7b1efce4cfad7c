"""From a request to a user and a caller: by token, or by the session of the pages."""

from datetime import timedelta
from typing import Any, cast

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from controlplane.identity.domain import Caller
from controlplane.identity.models import Token, User
from controlplane.identity.selectors import caller_for_token, caller_for_user
from controlplane.identity.services import USE_NOTED_EACH_S, token_use_note
from controlplane.kernel.clock import utc_now
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.ids import parse_uuid

SCHEME = "Token"


class TokenAuthentication(BaseAuthentication):
    """`X-Auth-Token: <token>` or `Authorization: Token <token>`."""

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:
        """None when there is no token; a token that is no good fails."""
        text = request.headers.get("X-Auth-Token", "") or _from_authorization(request)
        if not text:
            return None
        found = caller_for_token(text)
        if found is None:
            raise AuthenticationFailed("The token is unknown, expired or revoked.")
        user, caller, token = found
        _note_use(token)
        request.token_id = token.pk  # type: ignore[attr-defined]  # for revoking the current one
        return user, caller

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return SCHEME


def _note_use(token: Token) -> None:
    # Asked of this machine's clock first, so that most calls write nothing.
    if token.last_used_at is None or token.last_used_at < utc_now() - timedelta(seconds=USE_NOTED_EACH_S):
        token_use_note(token_id=token.pk)


def _from_authorization(request: Request) -> str:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == SCHEME.lower() else ""


class PageSessionAuthentication(SessionAuthentication):
    """The session of the pages, with its CSRF check."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """The session's user in the session's project."""
        found = super().authenticate(request)
        if found is None:
            return None
        user, _ = found
        try:
            return user, session_caller(request)
        except Forbidden as error:
            raise AuthenticationFailed(error.message) from error


def session_caller(request: Any) -> Caller:
    """The caller of a page: the project chosen in the session where the user still has a role there."""
    user = cast("User", request._request.user if isinstance(request, Request) else request.user)
    chosen = parse_uuid(request.session.get("project_id", "")) if hasattr(request, "session") else None
    try:
        return caller_for_user(user=user, project_id=chosen)
    except Forbidden:
        return caller_for_user(user=user)
