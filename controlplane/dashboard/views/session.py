"""Logging in and out, the project one works in, light or dark."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from controlplane.dashboard.views.pages import page
from controlplane.identity.domain import Caller
from controlplane.identity.selectors import projects_of_user
from controlplane.kernel.ids import parse_uuid

YEAR_S = 365 * 86400


class SignIn(LoginView):
    """The log-in page; who is logged in already goes on."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@require_POST
@page("instances:read")
def project_switch(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Work in another of one's projects."""
    wanted = parse_uuid(request.POST.get("project_id", ""))
    chosen = next((project for project in projects_of_user(user=request.user) if project.id == wanted), None)
    if chosen is None:
        messages.error(request, "You have no role in that project.", extra_tags="bad")
    else:
        request.session["project_id"] = str(chosen.id)
    return redirect("overview")


@require_POST
def theme_switch(request: HttpRequest) -> HttpResponse:
    """Dark, then light, then as the system says."""
    following = {"": "dark", "dark": "light", "light": ""}[_theme(request)]
    target = request.POST.get("next", "/")
    is_safe = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()})
    response = redirect(target if is_safe else "/")
    if following:
        response.set_cookie("theme", following, max_age=YEAR_S, samesite="Lax", httponly=True)
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


def _theme(request: HttpRequest) -> str:
    value = request.COOKIES.get("theme", "")
    return value if value in {"dark", "light"} else ""
