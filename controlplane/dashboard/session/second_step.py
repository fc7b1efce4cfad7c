"""The second step of logging in: the code of the second factor, or setting one up where it has to be there."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.second_factor_picture import CodeForm, enrolment_picture
from controlplane.identity.login_steps import PendingLogin, login_finish, pending_login
from controlplane.identity.selectors.second_factors import secret_begun
from controlplane.identity.services import second_factor_check, second_factor_confirm
from controlplane.kernel.errors import KilonovaError


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def login_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code. Who did not pass the first step, or waited too long, begins anew."""
    pending = pending_login(request)
    if pending is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            second_factor_check(user=pending.user, code=form.cleaned_data["code"])
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            return redirect(login_finish(request, pending, has_passed=True))
    return render(request, "dashboard/login_code.html", {"form": form, "person": pending.user})


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def login_set_up(request: HttpRequest) -> HttpResponse:
    """Set up a second factor, since this user has to have one; the first code logs in."""
    pending = pending_login(request)
    secret = secret_begun(user=pending.user) if pending else None
    if pending is None or secret is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            codes = second_factor_confirm(user=pending.user, code=form.cleaned_data["code"])
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            return _inside(request, pending, codes)
    picture = enrolment_picture(request, secret, pending.user.get_username())
    return render(request, "dashboard/login_set_up.html", {"form": form, "person": pending.user, "enrolment": picture})


def _inside(request: HttpRequest, pending: PendingLogin, codes: list[str]) -> HttpResponse:
    target = login_finish(request, pending, has_passed=True)
    return render(request, "dashboard/login_recovery_codes.html", {"codes": codes, "target": target})
