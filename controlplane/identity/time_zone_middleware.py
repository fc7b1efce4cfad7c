"""Pages and the Django admin show and read times in the zone of who is logged in; programs get and send UTC."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from controlplane.identity.actor_middleware import is_for_people
from controlplane.identity.models import User
from controlplane.infra.conf import page_options
from controlplane.kernel.time_zones import zone_of


class TimeZoneMiddleware:
    """Behind those that say who it is and whether the session still counts. A request without a session asks nothing,
    and one with a session asks for the user whom its page asks for anyway.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_for_people(request):
            return self.get_response(request)
        chosen = ""
        if settings.SESSION_COOKIE_NAME in request.COOKIES and isinstance(user := request.user, User):
            chosen = user.time_zone
        with timezone.override(zone_of(chosen or page_options().display_time_zone)):
            return self.get_response(request)
