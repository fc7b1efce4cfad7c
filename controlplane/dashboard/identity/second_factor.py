"""One's own second factor: set up, new recovery codes, given up."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.identity.account import person_of
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.second_factor_picture import CodeForm, enrolment_picture
from controlplane.identity.domain import Caller
from controlplane.identity.login_steps import passed_now
from controlplane.identity.selectors.second_factors import (
    is_second_factor_required,
    recovery_codes_left,
    second_factor_of,
    secret_begun,
)
from controlplane.identity.services import (
    recovery_codes_renew,
    second_factor_begin,
    second_factor_confirm,
    second_factor_give_up,
)
from controlplane.kernel.errors import Invalid, KilonovaError


@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
@page("me:write")
def second_factor_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """How it stands, and what can be done about it now."""
    form = CodeForm(request.POST if "code" in request.POST else None)
    if request.method != "POST":
        return _shown(request, caller, form)
    asked = request.POST.get("do", "")
    if asked == "begin":
        second_factor_begin(user=person_of(request))
        return redirect("account-second-factor")
    if asked not in {"confirm", "renew", "give-up"}:
        raise Invalid(_("Choose what to do."), field="do")
    if not form.is_valid():
        return _shown(request, caller, form)
    return _by_code(request, caller, form, asked)


def _by_code(request: HttpRequest, caller: Caller, form: CodeForm, asked: str) -> HttpResponse:
    person, code = person_of(request), form.cleaned_data["code"]
    try:
        if asked == "give-up":
            second_factor_give_up(user=person, code=code)
            messages.success(request, _("Your second factor was removed."), extra_tags="good")
            return redirect("account")
        codes = (second_factor_confirm if asked == "confirm" else recovery_codes_renew)(user=person, code=code)
    except KilonovaError as error:
        errors_add(form, error, {})
        return _shown(request, caller, form)
    passed_now(request)
    return show(request, caller, "dashboard/identity/recovery_codes.html", "account", codes=codes)


def _shown(request: HttpRequest, caller: Caller, form: CodeForm) -> HttpResponse:
    person = person_of(request)
    factor, secret = second_factor_of(user=person), secret_begun(user=person)
    context = {
        "form": form,
        "factor": factor,
        "left": recovery_codes_left(user=person) if factor else 0,
        "is_required": is_second_factor_required(user=person),
        "enrolment": enrolment_picture(request, secret, person.get_username()) if secret else None,
    }
    return show(request, caller, "dashboard/identity/second_factor.html", "account", **context)
