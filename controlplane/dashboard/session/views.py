"""Logging in and out, the project one works in, light or dark."""

from typing import Any, cast

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import logout
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from controlplane.dashboard.pages import page
from controlplane.identity.conf import oidc_options
from controlplane.identity.domain import Caller
from controlplane.identity.forms import AdminLoginForm, LoginForm
from controlplane.identity.login_steps import login_begin
from controlplane.identity.models import User
from controlplane.identity.selectors.own_projects import own_project_called

YEAR_S = 365 * 86400
THEMES = {"dark", "light"}


class SteppedLogin(LoginView):
    """Name and password are the first step."""

    def form_valid(self, form: Any) -> HttpResponse:
        """On to the second factor, or inside."""
        return redirect(login_begin(self.request, form.get_user(), target=self.get_success_url()))


class SignIn(SteppedLogin):
    """The log-in page; who is logged in already goes on."""

    template_name = "dashboard/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """With the provider, where people log in by one."""
        options = oidc_options()
        provider = options.oidc_name if options.oidc_issuer else ""
        return super().get_context_data(**context, provider=provider)


class AdminSignIn(SteppedLogin):
    """The Django admin's log-in page, in place of its own, which knows no steps. Only staff pass."""

    template_name = "admin/login.html"
    authentication_form = AdminLoginForm
    next_page = "admin:index"

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Who is inside already goes on."""
        if request.method == "GET" and admin.site.has_permission(request):
            return redirect("admin:index")
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """As the admin's own page has it."""
        request = self.request
        frame = {**admin.site.each_context(request), "title": _("Log in"), "app_path": request.get_full_path()}
        return super().get_context_data(**{**frame, "username": request.user.get_username(), **context})


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@require_POST
@page("me:read")
def project_switch(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Work in another of one's projects, by its id or name."""
    chosen = own_project_called(user=cast("User", request.user), text=request.POST.get("project", "").strip())
    if chosen is None:
        messages.error(request, _("You have no role in that project."), extra_tags="bad")
    else:
        request.session["project_id"] = str(chosen.id)
    return redirect("overview")


@require_POST
def theme_switch(request: HttpRequest) -> HttpResponse:
    """Light, dark, or (anything else) as the system says. Needs no log-in: it is the browser's own."""
    wanted = request.POST.get("theme", "")
    return _chosen(_back(request), "theme", wanted if wanted in THEMES else "")


@require_POST
def language_switch(request: HttpRequest) -> HttpResponse:
    """One of the languages that there are, or (anything else) what the browser asks for. Needs no log-in either."""
    wanted = request.POST.get("language", "")
    return _chosen(_back(request), settings.LANGUAGE_COOKIE_NAME, wanted if wanted in dict(settings.LANGUAGES) else "")


def _back(request: HttpRequest) -> HttpResponse:
    """To the page that it was asked from, which is one of ours."""
    target = request.POST.get("next", "/")
    is_safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return redirect(target if is_safe else "/")


@require_POST
@page("me:read")
def keyboard_switch(request: HttpRequest, _caller: Caller) -> HttpResponse:
    """Single keys on or off, in this browser."""
    return _chosen(redirect("keyboard"), "keys", "off" if request.POST.get("keys") == "off" else "")


def _chosen(response: HttpResponse, name: str, value: str) -> HttpResponse:
    """Have the browser keep a choice of its own for a year; an empty one is forgotten."""
    if value:
        response.set_cookie(
            name, value, max_age=YEAR_S, samesite="Lax", httponly=True, secure=settings.SESSION_COOKIE_SECURE
        )
    else:
        response.delete_cookie(name, samesite="Lax")
    return response
