"""One's own account: password, tokens, roles, and what one may use in the project one works in."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.long_select import LongSelect
from controlplane.dashboard.pages import page, show
from controlplane.identity.addresses import address_of
from controlplane.identity.conf import identity_options
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from controlplane.identity.openstack.clouds_yaml import FILE_NAME, clouds_yaml
from controlplane.identity.selectors import tokens_of_user
from controlplane.identity.selectors.people import roles_of, source_of
from controlplane.identity.selectors.second_factors import is_second_factor_required, second_factor_of
from controlplane.identity.services import token_issue_own, token_revoke, user_password_change, user_update
from controlplane.infra.conf import page_options
from controlplane.kernel.errors import Invalid, KilonovaError
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.time_zones import time_zones_offered
from servers.catalog.selectors.quota import image_quota_state, quota_state
from servers.networks.selectors.quota import network_quota_state
from servers.volumes.selectors.quota import volume_quota_state

LISTED = 50
MINUTE_S, HOUR_S = 60.0, 3600.0


class PasswordForm(forms.Form):
    """The password in force, and the new one twice."""

    current = forms.CharField(
        label=_("Your password now"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label=_("New password"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("At least 8 characters, and none of the common ones."),
    )
    again = forms.CharField(
        label=_("New password again"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        """Both are the same."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if "new" in data and "again" in data and data["new"] != data["again"]:
            self.add_error("again", gettext("The two new passwords differ."))
        return data


class TokenForm(forms.Form):
    """How long a token is good for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        longest = identity_options().token_lifetime_s / HOUR_S
        self.fields["hours"] = forms.FloatField(
            label=_("Good for (hours)"),
            initial=f"{longest:g}",
            min_value=MINUTE_S / HOUR_S,
            max_value=longest,
            help_text=gettext("At most %(hours)s.") % {"hours": f"{longest:g}"},
            widget=forms.NumberInput(attrs={"class": "short", "step": "any"}),
        )


class TimeZoneForm(forms.Form):
    """The zone that pages show times in."""

    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        widget=LongSelect,
        help_text=_("Pages show times in it, and read those that you type. Programs are always answered in UTC."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        there = [(name, name.replace("_", " ")) for name in time_zones_offered()]
        chosen = self.initial.get("time_zone", "")
        if chosen and chosen not in time_zones_offered():
            there.append((chosen, chosen))
        default = gettext("As the installation has it (%(zone)s)") % {"zone": page_options().display_time_zone}
        cast("forms.ChoiceField", self.fields["time_zone"]).choices = [("", default), *there]


def person_of(request: HttpRequest) -> User:
    """Whose account it is: `page` lets nobody in who is not logged in."""
    return cast("User", request.user)


@require_safe
@page("me:read")
def account_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Everything about oneself."""
    return _shown(request, caller, TokenForm())


def _shown(request: HttpRequest, caller: Caller, form: TokenForm, **more: Any) -> HttpResponse:
    person = person_of(request)
    context = {
        "person": person,
        "source": source_of(user=person),
        "factor": second_factor_of(user=person),
        "is_required": is_second_factor_required(user=person),
        "assignments": roles_of(user=person)[:LISTED],
        "tokens": tokens_of_user(user_id=person.pk)[:LISTED],
        "token_form": form,
        "zone_form": TimeZoneForm(initial={"time_zone": person.time_zone}),
        "quota": quota_state(project_id=caller.project_id),
        "image_quota": image_quota_state(project_id=caller.project_id),
        "network_quota": network_quota_state(project_id=caller.project_id),
        "volume_quota": volume_quota_state(project_id=caller.project_id),
    }
    return show(request, caller, "dashboard/identity/account.html", "account", **{**context, **more})


@require_POST
@page("me:write")
def account_time_zone(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The zone that one reads times in; the next page is in it."""
    person = person_of(request)
    form = TimeZoneForm(request.POST, initial={"time_zone": person.time_zone})
    if not form.is_valid():
        return _shown(request, caller, TokenForm(), zone_form=form)
    user_update(user=person, time_zone=form.cleaned_data["time_zone"])
    messages.success(request, gettext("Your time zone was changed."), extra_tags="good")
    return redirect("account")


@require_safe
@page("me:read")
def account_clouds_yaml(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What OpenStack's clients need to find this installation, for the project that one works in."""
    base = request.build_absolute_uri("/").rstrip("/")
    text = clouds_yaml(base=base, username=caller.username, project=caller.project_name)
    response = HttpResponse(text, content_type="application/yaml")
    response["Content-Disposition"] = f'attachment; filename="{FILE_NAME}"'
    return response


@sensitive_post_parameters("current", "new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
@page("me:write")
def account_password(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A new password. This session goes on; others end, and so do tokens."""
    person = person_of(request)
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            user_password_change(
                user=person, current=given["current"], new=given["new"], address=address_of(request.META)
            )
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            update_session_auth_hash(request, person)
            messages.success(request, gettext("Your password was changed. Your tokens have ended."), extra_tags="good")
            return redirect("account")
    context = {"form": form, "source": source_of(user=person)}
    return show(request, caller, "dashboard/identity/account_password.html", "account", **context)


@require_POST
@page("tokens:issue")
def account_token_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A token for the project that one works in. It is shown on this page and never again."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _shown(request, caller, form)
    issued = token_issue_own(caller=caller, lifetime_s=form.cleaned_data["hours"] * HOUR_S)
    return _shown(request, caller, TokenForm(), issued=issued)


@require_POST
@page("tokens:revoke")
def account_token_revoke(request: HttpRequest, caller: Caller) -> HttpResponse:
    """End one of one's own tokens, at once."""
    token_id = parse_uuid(request.POST.get("token", ""))
    if token_id is None or not token_revoke(token_id=token_id, user_id=caller.user_id):
        raise Invalid(gettext("That token has ended already."), field="token")
    messages.success(request, gettext("The token was revoked."), extra_tags="good")
    return redirect("account")
