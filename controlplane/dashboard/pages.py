"""What every page needs: a caller with the right to see it, the frame's context, errors as pages."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django_htmx.http import HttpResponseClientRedirect

from controlplane.identity.api.callers import caller_of
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.identity.selectors.own_projects import own_projects_offered
from controlplane.infra.api.errors import status_of
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.selectors.liveness import hosts_silent

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, Caller, P], HttpResponseBase]
# More than any name that people search for.
LONGEST_FILTER = 255


def page(action: str) -> Callable[[View[P]], Callable[Concatenate[HttpRequest, P], HttpResponseBase]]:
    """A page that needs a log-in and the policy's `action`. The view gets the caller; refusals become a page."""

    def decorate(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @functools.wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_login(request)
            try:
                caller = caller_of(request)
                require(caller, action)
                return view(request, caller, *args, **kwargs)
            except KilonovaError as error:
                return refusal_page(request, error)

        return guarded

    return decorate


def is_htmx(request: HttpRequest) -> bool:
    """Whether a live part of a page asks for itself again."""
    return bool(getattr(request, "htmx", False))


def filter_text(request: HttpRequest, name: str) -> str:
    """A text that rows are filtered by. Databases cannot hold a NUL, so no row can match one."""
    return request.GET.get(name, "").replace("\x00", "").strip()[:LONGEST_FILTER]


def _to_login(request: HttpRequest) -> HttpResponse:
    """A form that is posted after the session ended comes back to the overview, never to an address for POST only."""
    if is_htmx(request):
        # Otherwise the log-in page would be swapped into the live part of the page.
        return HttpResponseClientRedirect(settings.LOGIN_URL)
    return redirect_to_login(request.get_full_path() if request.method in {"GET", "HEAD"} else "/")


HEADINGS = {
    403: gettext_noop("This is not open to you"),
    404: gettext_noop("Not found"),
    409: gettext_noop("That is not possible now"),
    429: gettext_noop("Too much at once"),
    503: gettext_noop("Not available now"),
}


def refusal_page(request: HttpRequest, error: KilonovaError) -> HttpResponse:
    """A refusal as a page, with the status an API call would get."""
    status = status_of(error)
    heading = HEADINGS.get(status, gettext_noop("That is not possible"))
    context = {"error": error, "heading": heading, "request_id": current_request_id()}
    return _own(render(request, "dashboard/refusal.html", context, status=status))


def show(request: HttpRequest, caller: Caller, template: str, section: str, **context: Any) -> HttpResponse:
    """Render a page in the frame, or one of its live parts."""
    context |= {
        "caller": caller,
        "section": section,
        "projects": own_projects_offered(user=request.user),
        # Asked once a page, and only where the page shows a status.
        "silent_hosts": SimpleLazyObject(hosts_silent),
    }
    return _own(render(request, template, context))


def _own(response: HttpResponse) -> HttpResponse:
    """One address serves the page and its live part, and a page is only for who asked for it."""
    patch_vary_headers(response, ["HX-Request"])
    add_never_cache_headers(response)
    return response
