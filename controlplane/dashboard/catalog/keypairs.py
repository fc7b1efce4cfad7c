"""Pages of key pairs: everybody has their own, in whatever project they work."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.catalog.keypair_listing import KEYPAIRS
from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.identity.selectors import limits_of_owner
from controlplane.kernel.errors import KilonovaError
from servers.catalog.services.keypair import keypair_create, keypair_delete, keypair_generate


class KeyPairPageForm(forms.Form):
    """A name, and a public key unless a pair is to be made here."""

    name = forms.CharField(
        label=_("Name"), strip=False, help_text=_("What you choose it by when you create an instance.")
    )
    public_key = forms.CharField(
        label=_("Public key"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"}),
        help_text=_("One line, as ~/.ssh/id_ed25519.pub has it. Leave it empty to have a pair made here."),
    )


@require_safe
@page("keypairs:read")
def keypair_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The caller's own."""
    limits = limits_of_owner(project_id=caller.project_id, user_id=caller.user_id, names=["key_pairs"])
    return list_response(request, caller, KEYPAIRS, limit=limits["key_pairs"])


@require_http_methods(["GET", "HEAD", "POST"])
@page("keypairs:write")
def keypair_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Keep a public key; or make a pair and show its private half this once, on the answer to the form itself."""
    form = KeyPairPageForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name, public_key = form.cleaned_data["name"], form.cleaned_data["public_key"]
        try:
            if public_key:
                keypair_create(user_id=caller.user_id, name=name, public_key=public_key, project_id=caller.project_id)
                messages.success(request, gettext("%(name)s is kept.") % {"name": name}, extra_tags="good")
                return redirect("keypairs")
            made = keypair_generate(user_id=caller.user_id, name=name, project_id=caller.project_id)
            return show(request, caller, "dashboard/catalog/keypair_made.html", "keypairs", made=made)
        except KilonovaError as error:
            errors_add(form, error, {})
    return show(request, caller, "dashboard/catalog/keypair_form.html", "keypairs", form=form)


@require_POST
@page("keypairs:write")
def keypair_delete_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Delete one of the caller's own; its name is in the form, for it may hold any character."""
    name = request.POST.get("name", "")
    keypair_delete(user_id=caller.user_id, name=name)
    messages.success(
        request,
        gettext("%(name)s was deleted. Instances made with it keep the key.") % {"name": name},
        extra_tags="good",
    )
    return redirect("keypairs")
