"""What a page says after something was asked for: a sentence, a link to the work, and a button that takes it back."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext


@dataclass(frozen=True, slots=True)
class ToastLink:
    """Where one sees what becomes of it."""

    title: str
    href: str


@dataclass(frozen=True, slots=True)
class Undo:
    """The form that does the opposite: its address, and the one field that says what. It is judged like any other press
    of a button, so it does nothing that the person could not do anyway.
    """

    address: str
    name: str
    value: str
    title: str = ""
    """What the button says; else "Undo"."""


def toast(
    request: HttpRequest, text: str, *, links: Sequence[ToastLink] = (), undo: Undo | None = None, tone: str = "good"
) -> None:
    """Say it on the next page that is shown."""
    parts = [format_html('<span class="toast-text">{}</span>', text)]
    parts += [format_html('<a href="{}">{}</a>', one.href, one.title) for one in links]
    if undo is not None:
        parts.append(_button(undo))
    level = messages.ERROR if tone == "bad" else messages.SUCCESS
    messages.add_message(request, level, format_html_join(" ", "{}", ((one,) for one in parts)), extra_tags=tone)


def _button(undo: Undo) -> SafeString:
    # base.html has the form, with the token that every form of ours needs.
    return format_html(
        '<button class="link" form="toast-form" formaction="{}" name="{}" value="{}">{}</button>',
        undo.address,
        undo.name,
        undo.value,
        undo.title or gettext("Undo"),
    )
