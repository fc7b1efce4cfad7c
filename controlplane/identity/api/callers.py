"""The caller of a request, for API views and for pages."""

from django.http import HttpRequest
from rest_framework.request import Request

from controlplane.identity.api.authentication import session_caller
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Forbidden


def caller_of(request: Request | HttpRequest) -> Caller:
    """Who calls. Raises Forbidden for somebody who is not logged in or has no role anywhere."""
    if isinstance(request, Request):
        if isinstance(request.auth, Caller):
            return request.auth
        raise Forbidden("You are not logged in.")
    if not request.user.is_authenticated:
        raise Forbidden("You are not logged in.")
    return session_caller(request)
