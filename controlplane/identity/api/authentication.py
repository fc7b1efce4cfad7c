"""From a request to a user and a caller: by token, or by the session of the pages."""

from typing import Any, cast

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from controlplane.audit_log.recording.actor_scope import actor_known
from controlplane.identity.domain import Caller
from controlplane.identity.login_steps import lacks_for_staff
from controlplane.identity.models import User
from controlplane.identity.selectors import caller_for_token, caller_for_user
from controlplane.identity.services import token_used
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
        user, holder = found
        token_used(token_id=holder.token_id, last_used_at=holder.last_used_at)
        actor_known(holder.caller)
        request.token_id = holder.token_id  # type: ignore[attr-defined]  # for revoking the current one
        return user, holder.caller

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return SCHEME


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
        caller = caller_for_user(user=user, project_id=chosen)
    except Forbidden:
        caller = caller_for_user(user=user)
    actor_known(caller)
    if caller.is_admin and lacks_for_staff(request):
        raise Forbidden("Administrators need a second factor here: log out, and log in again to set it up.")
    return caller
