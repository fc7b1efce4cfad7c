"""The search as a page, and as the answer that the palette shows; the list of keys."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from controlplane.dashboard.menu import menu_of
from controlplane.dashboard.menu_counts import menu_counts
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.dashboard.search.places import commands, hit_groups
from controlplane.dashboard.shortcuts import GENERAL
from controlplane.identity.domain import Caller
from servers.search.selectors import search
from servers.search.terms import MAX_CHARS, MIN_CHARS


@require_safe
@page("me:read")
def search_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What a text finds: pages to go to, then things, kind after kind. One bounded request, and what it costs does not
    grow with the installation.
    """
    text = filter_text(request, "q")
    context: dict[str, Any] = {"text": text, "commands": commands(caller, text), "groups": [], "is_short": True}
    if MIN_CHARS <= len(text) <= MAX_CHARS:
        result = search(caller=caller, text=text)
        context |= {"groups": hit_groups(result, is_admin=caller.is_admin), "is_short": False}
    context["count"] = sum(len(group.hits) for group in context["groups"])
    template = "dashboard/search/results.html" if is_htmx(request) else "dashboard/search/page.html"
    return show(request, caller, template, "search", **context)


@require_safe
@page("me:read")
def keyboard_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Which keys do what."""
    pages = [one.page for subject in menu_of(caller, "") for one in subject.pages if one.page.key]
    template = "dashboard/search/keys.html" if is_htmx(request) else "dashboard/search/keyboard.html"
    return show(request, caller, template, "keyboard", general=GENERAL, pages=pages)


@require_safe
@page("me:read")
def menu_counts_part(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The numbers of the menu, for the pages that are open; by itself it leads nowhere."""
    if not is_htmx(request):
        return redirect("overview")
    return show(request, caller, "components/menu_counts.html", "", counts=menu_counts(caller))
