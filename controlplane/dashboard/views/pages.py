"""What every page needs: a caller with the right to see it, the frame's context, errors as pages."""

import functools
import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from controlplane.identity.api.callers import caller_of
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.identity.selectors import projects_of_user
from controlplane.infra.api.errors import status_of
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import KilonovaError

P = ParamSpec("P")
log = logging.getLogger(__name__)
View = Callable[Concatenate[HttpRequest, Caller, P], HttpResponse]


def page(action: str) -> Callable[[View[P]], Callable[Concatenate[HttpRequest, P], HttpResponse]]:
    """A page that needs a log-in and the policy's `action`. The view gets the caller; refusals become a page."""

    def decorate(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
        @login_required
        @functools.wraps(view)
        def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            try:
                caller = caller_of(request)
                require(caller, action)
                return view(request, caller, *args, **kwargs)
            except KilonovaError as error:
                return refusal(request, error)

        return guarded

    return decorate


def refusal(request: HttpRequest, error: KilonovaError) -> HttpResponse:
    """A refusal as a page, with the status an API call would get."""
    context = {"error": error, "request_id": current_request_id()}
    return render(request, "dashboard/refusal.html", context, status=status_of(error))


def show(request: HttpRequest, caller: Caller, template: str, section: str, **context: Any) -> HttpResponse:
    """Render a page in the frame."""
    context |= {"caller": caller, "section": section, "projects": projects_of_user(user=request.user)}
    return render(request, template, context)
