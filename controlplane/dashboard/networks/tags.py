"""Tags in the forms of what networks are made of, and the page of those of a floating address, which has no form."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

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
from servers.networks.selectors.tags import TaggedKind, own_tags_require
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
@page("floating_ips:write")
def floating_ip_tags(request: HttpRequest, caller: Caller, floating_ip_id: uuid.UUID) -> HttpResponse:
    """Of a floating address."""
    row = floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)
    own_tags_require(caller, row)
    form = TagsForm(request.POST or None, initial={"tags": tags_text(row.tags)})
    saved = tagged_form_saved(
        request, caller, form, lambda: row, changed_text, kind=TaggedKind.FLOATING_IP, tags_before=row.tags
    )
    if saved is not None:
        return redirect("floating-ips")
    return show(request, caller, "dashboard/networks/tags_form.html", "floating-ips", form=form, name=row.address)
