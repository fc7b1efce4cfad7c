"""Tags in the forms of what networks are made of, and the page that changes the tags of what has no other form."""

import uuid
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import KilonovaError
from servers.networks.domain.tags import tags_of_text, tags_text
from servers.networks.selectors.floating_ips import floating_ip_get
from servers.networks.selectors.ports import port_get
from servers.networks.selectors.tags import TaggedKind, TaggedRow, own_tags_require
from servers.networks.services.tags import tags_replace


def tags_field() -> forms.CharField:
    """The field `tags` of a form."""
    return forms.CharField(label=_("Tags"), required=False, help_text=_("Words separated by commas."))


def tags_asked(form: forms.Form, before: Sequence[str] = ()) -> list[str] | None:
    """The tags that a valid form asks for; None where it leaves them as they were."""
    text = form.cleaned_data["tags"]
    return None if text == tags_text(before).strip() else tags_of_text(text)


class TagsForm(forms.Form):
    """Nothing but tags."""

    tags = tags_field()


@require_http_methods(["GET", "HEAD", "POST"])
@page("ports:write")
def port_tags(request: HttpRequest, caller: Caller, port_id: uuid.UUID) -> HttpResponse:
    """Of a port."""
    row = port_get(caller=caller, port_id=port_id)
    own_tags_require(caller, row)
    above = (f"/networks/{row.network_id}/" if row.network_id else "", row.network_name)
    return _edited(request, caller, "networks", TaggedKind.PORT, row, name=row.name or row.mac, above=above)


@require_http_methods(["GET", "HEAD", "POST"])
@page("floating_ips:write")
def floating_ip_tags(request: HttpRequest, caller: Caller, floating_ip_id: uuid.UUID) -> HttpResponse:
    """Of a floating address."""
    row = floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)
    own_tags_require(caller, row)
    return _edited(request, caller, "floating-ips", TaggedKind.FLOATING_IP, row, name=row.address, above=("", ""))


def _edited(
    request: HttpRequest,
    caller: Caller,
    section: str,
    kind: TaggedKind,
    row: TaggedRow,
    *,
    name: str,
    above: tuple[str, str],
) -> HttpResponse:
    """The form, or what it asks for and then the page `above` the row: its address and name; none: the list."""
    form = TagsForm(request.POST or None, initial={"tags": tags_text(row.tags)})
    back = above[0] or f"/{section}/"
    if request.method == "POST" and form.is_valid():
        tags = tags_asked(form, row.tags)
        try:
            if tags is not None:
                tags_replace(caller=caller, kind=kind, resource_id=row.pk, tags=tags)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(request, gettext("%(name)s was changed.") % {"name": name}, extra_tags="good")
            return redirect(back)
    context: dict[str, Any] = {"form": form, "name": name, "back": back, "above": above}
    return show(request, caller, "dashboard/networks/tags_form.html", section, **context)
