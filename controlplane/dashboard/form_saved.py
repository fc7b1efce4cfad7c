"""A form that was sent, from the look at its fields to the word on the next page."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext

from controlplane.dashboard.form_errors import errors_add
from controlplane.kernel.errors import KilonovaError

ROW = TypeVar("ROW")


def form_saved(
    request: HttpRequest,
    form: forms.Form,
    write: Callable[[], ROW],
    message: Callable[[ROW], str],
    *,
    names: Mapping[str, str] | None = None,
) -> ROW | None:
    """What `write` returned for a form that was sent and is valid; `message` of it is on the next page then.

    None: the form is to be shown, with what a service refused at the fields (`names` as in `errors_add`).
    """
    if request.method != "POST" or not form.is_valid():
        return None
    try:
        row = write()
    except KilonovaError as error:
        errors_add(form, error, names or {})
        return None
    messages.success(request, message(row), extra_tags="good")
    return row


def changed_text(row: object) -> str:
    """The word on the next page where something was changed."""
    return gettext("%(name)s was changed.") % {"name": row}
