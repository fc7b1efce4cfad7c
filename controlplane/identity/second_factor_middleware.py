"""Sessions that were begun without the second factor that is wanted by now are over."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse

from controlplane.identity.conf import identity_options
from controlplane.identity.login_steps import has_passed
from controlplane.identity.models import User
from controlplane.identity.selectors.second_factors import is_required_of_row


class SecondFactorMiddleware:
    """For everybody, or for who is staff or superuser; that somebody has the role admin is seen with the caller.

    Where no second factor is required it asks nothing, and neither for programs, which send no session.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_wanted = identity_options().second_factor_required != "none"
        if is_wanted and settings.SESSION_COOKIE_NAME in request.COOKIES:
            user = request.user
            if isinstance(user, User) and is_required_of_row(user=user) and not has_passed(request):
                logout(request)
        return self.get_response(request)
