"""Bulk actions that cannot be undone ask first: the names, their number, and for many rows a word that is typed.

The page that asks carries a digest of the chosen rows. What is done is done to exactly those rows: where the choice
has changed meanwhile ("select all 161" matches 162 now), the page asks again.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import actions as django_actions
from django.contrib.admin import helpers
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop

CONFIRMED = "confirmed"
TYPED = "typed_word"
# So many names can be read at a glance; above it the person types what is done to them, as in the panel.
MAX_UNTYPED = 10
MAX_NAMED = 200
DELETE = gettext_noop("Delete selected %(verbose_name_plural)s")
TEMPLATE = "admin/confirm_action.html"
Action = Callable[[Any, HttpRequest, "QuerySet[Any]"], TemplateResponse | None]


def destructive(
    *, description: str, permissions: list[str], question: str, word: str = ""
) -> Callable[[Action], Action]:
    """An admin action that shows `question` and the chosen rows first, and acts when that page is confirmed. Both texts
    are marked with `gettext_noop`, and translated when they are shown.

    `word` is typed for many rows; without one it is the first of the description: "delete", "revoke".
    """
    typed = word or _first_word(description)

    def decorate(action: Action) -> Action:
        @admin.action(description=description, permissions=permissions)
        def guarded(model_admin: Any, request: HttpRequest, queryset: "QuerySet[Any]") -> TemplateResponse | None:
            name = action.__name__
            asked = _ask(
                model_admin, request, queryset, name=name, description=description, question=question, word=typed
            )
            return asked or action(model_admin, request, queryset)

        guarded.__name__ = action.__name__
        guarded.__doc__ = action.__doc__
        guarded.asks_first = True  # type: ignore[attr-defined]  # read by asks_first
        return guarded

    return decorate


def _first_word(description: str) -> str:
    return re.split(r"\W", description, maxsplit=1)[0].lower()


def asks_first(action: Any) -> bool:
    """Whether an action shows a page before it acts."""
    return bool(getattr(action, "asks_first", False))


@admin.action(description=DELETE, permissions=["delete"])
def delete_selected(model_admin: Any, request: HttpRequest, queryset: "QuerySet[Any]") -> TemplateResponse | None:
    """Django's deletion behind this page. What is protected or not allowed is still shown on Django's own page."""
    _objects, counts, forbidden, protected = model_admin.get_deleted_objects(queryset, request)
    if not forbidden and not protected:
        question = gettext_noop("These rows, and all that is listed here, are deleted for good.")
        asked = _ask(
            model_admin,
            request,
            queryset,
            name="delete_selected",
            description=DELETE,
            question=question,
            word=_first_word(DELETE),
            counts=counts,
        )
        if asked is not None:
            return asked
        posted = request.POST.copy()
        posted["post"] = "yes"
        request.POST = posted  # type: ignore[assignment]  # mutable
    try:
        with transaction.atomic():  # else the log would name a deletion that was refused
            return django_actions.delete_selected(model_admin, request, queryset)
    except KilonovaError as error:
        model_admin.message_user(request, refusal_text(error), messages.ERROR)
        return None


delete_selected.asks_first = True  # type: ignore[attr-defined]  # read by asks_first


def _ask(
    model_admin: Any,
    request: HttpRequest,
    queryset: "QuerySet[Any]",
    *,
    name: str,
    description: str,
    question: str,
    word: str,
    counts: Mapping[str, int] = MappingProxyType({}),
) -> TemplateResponse | None:
    """The page; None once it was confirmed for exactly these rows."""
    rows = list(queryset)
    keys = sorted(str(row.pk) for row in rows)
    digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()
    sent, typed = request.POST.get(CONFIRMED), request.POST.get(TYPED, "").strip().lower()
    must_type = len(rows) > MAX_UNTYPED
    if sent == digest and (not must_type or typed == word):
        return None
    warning = ""
    if sent is not None and sent != digest:
        warning = _("The chosen rows changed meanwhile, so nothing was done. These are chosen now.")
    elif sent is not None:
        warning = _("Nothing was done: type %(word)s to confirm.") % {"word": word}
    select_across = request.POST.get("select_across") == "1"
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": _(description) % {"verbose_name_plural": model_admin.opts.verbose_name_plural},
        "question": _(question),
        "warning": warning,
        "names": [str(row) for row in rows[:MAX_NAMED]],
        "unnamed": max(0, len(rows) - MAX_NAMED),
        "count": len(rows),
        "counts": sorted(counts.items()),
        "word": word if must_type else "",
        "action": name,
        # "Select all" is sent on as such: thousands of keys would be more fields than a form may have.
        "keys": keys[:1] if select_across else keys,
        "select_across": select_across,
        "confirmed": digest,
        "key_field": helpers.ACTION_CHECKBOX_NAME,
        "confirmed_field": CONFIRMED,
        "typed_field": TYPED,
    }
    return TemplateResponse(request, TEMPLATE, context)
