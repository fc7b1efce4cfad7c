"""One's own application credentials: what programs log in with."""

from datetime import timedelta
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller, Role
from controlplane.identity.domain.application_credential import roles_of_text
from controlplane.identity.openstack.clouds_yaml import credential_clouds_yaml
from controlplane.identity.selectors.application_credentials import application_credentials_of
from controlplane.identity.services import application_credential_create, application_credential_delete
from controlplane.kernel.clock import utc_now
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.ids import parse_uuid

LISTED = 100
MAX_DAYS = 3650


class CredentialForm(forms.Form):
    """Name, roles, end."""

    name = forms.CharField(
        label=_("Name"), max_length=255, help_text=_("Of what uses it, such as backup or terraform.")
    )
    description = forms.CharField(label=_("Description"), max_length=255, required=False)
    role = forms.ChoiceField(label=_("Role"), help_text=_("What it may do, at most what you may."))
    days = forms.IntegerField(
        label=_("Good for (days)"),
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text=_("Empty: until it is deleted, or the installation ends it."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    unrestricted = forms.BooleanField(
        label=_("May make and delete application credentials itself"),
        required=False,
        help_text=_("Whoever has its secret could then make others that stay when you delete this one."),
    )

    def __init__(self, *args: Any, caller: Caller, **options: Any) -> None:
        super().__init__(*args, **options)
        offered = [role.value for role in sorted(Role) if caller.holds(role)]
        cast("forms.ChoiceField", self.fields["role"]).choices = [(name, name) for name in offered]
        self.fields["role"].initial = offered[-1]

    def asked(self) -> dict[str, Any]:
        """As the service takes it."""
        given = self.cleaned_data
        return {
            "name": given["name"],
            "description": given["description"],
            "roles": [Role(given["role"])],
            "expires_at": utc_now() + timedelta(days=given["days"]) if given["days"] else None,
            "unrestricted": given["unrestricted"],
        }


@require_http_methods(["GET", "HEAD", "POST"])
@page("application_credentials:write")
def credentials_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All of one's own, and a form for one more. A new secret is shown on the page that answers, and never again."""
    form = CredentialForm(request.POST or None, caller=caller)
    made: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        try:
            issued = application_credential_create(caller=caller, **form.asked())
        except (Invalid, Conflict) as error:
            errors_add(form, error, {"expires_at": "days", "roles": "role"})
        else:
            base = request.build_absolute_uri("/").rstrip("/")
            text = credential_clouds_yaml(base=base, credential_id=issued.row.pk, secret=issued.secret)
            made = {"issued": issued, "clouds_yaml": text}
            form = CredentialForm(caller=caller)
    now = utc_now()
    rows = [
        (
            one,
            sorted(role.value for role in roles_of_text(one.roles)),
            one.expires_at is not None and one.expires_at <= now,
        )
        for one in application_credentials_of(user_id=caller.user_id)[:LISTED]
    ]
    context = {"form": form, "rows": rows, **made}
    return show(request, caller, "dashboard/identity/account_credentials.html", "account", **context)


@require_POST
@page("application_credentials:write")
def credential_delete(request: HttpRequest, caller: Caller) -> HttpResponse:
    """End one of one's own, with its tokens."""
    credential_id = parse_uuid(request.POST.get("credential", ""))
    if credential_id is None:
        raise Invalid(gettext("Which one?"), field="credential")
    application_credential_delete(caller=caller, user_id=caller.user_id, credential_id=credential_id)
    messages.success(
        request, gettext("The application credential was deleted. Its tokens have ended."), extra_tags="good"
    )
    return redirect("account-credentials")
