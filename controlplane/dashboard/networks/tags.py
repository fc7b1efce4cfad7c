"""Tags in the forms of what networks are made of, and the page that changes the tags of what has no other form."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django import forms
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.form_saved import changed_text, form_saved
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from servers.networks.domain.tags import tags_of_text, tags_text
from servers.networks.selectors.floating_ips import floating_ip_get
from servers.networks.selectors.ports import port_get
from servers.networks.selectors.tags import TaggedKind, TaggedRow, own_tags_require
from servers.networks.services.tags import with_tags

ROW = TypeVar("ROW", bound=Model)


def tags_field() -> forms.CharField:
    """The field `tags` of a form."""
    return forms.CharField(label=_("Tags"), required=False, help_text=_("Words separated by commas."))


def tags_asked(form: forms.Form, before: Sequence[str] = ()) -> list[str] | None:
    """The tags that a valid form asks for; None where it leaves them as they were."""
    text = form.cleaned_data["tags"]
    return None if text == tags_text(before).strip() else tags_of_text(text)


def tagged_form_saved(
    request: HttpRequest,
    caller: Caller,
    form: forms.Form,
    write: Callable[[], ROW],
    message: Callable[[ROW], str],
    *,
    kind: TaggedKind,
    tags_before: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
) -> ROW | None:
    """The same as `form_saved`, with the tags of the form: both are written, or neither."""

    def both() -> ROW:
        return with_tags(caller=caller, kind=kind, tags=tags_asked(form, tags_before), write=write)

    return form_saved(request, form, both, message, names=names)


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
    if tagged_form_saved(request, caller, form, lambda: row, changed_text, kind=kind, tags_before=row.tags):
        return redirect(back)
    context: dict[str, Any] = {"form": form, "name": name, "back": back, "above": above}
    return show(request, caller, "dashboard/networks/tags_form.html", section, **context)
