"""Logging in and out, the project one works in, light or dark."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.identity.forms import LoginForm
from controlplane.identity.selectors import projects_of_user
from controlplane.kernel.ids import parse_uuid

YEAR_S = 365 * 86400
THEMES = {"dark", "light"}


class SignIn(LoginView):
    """The log-in page; who is logged in already goes on."""

    template_name = "dashboard/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@require_POST
@page("me:read")
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
    """Light, dark, or (anything else) as the system says. Needs no log-in: it is the browser's own."""
    target = request.POST.get("next", "/")
    is_safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    response = redirect(target if is_safe else "/")
    wanted = request.POST.get("theme", "")
    if wanted in THEMES:
        response.set_cookie(
            "theme", wanted, max_age=YEAR_S, samesite="Lax", httponly=True, secure=settings.SESSION_COOKIE_SECURE
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response
