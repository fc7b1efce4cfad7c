"""A list as a page: whole, its rows alone for a look of the live part, or its body after a filter was changed."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from controlplane.dashboard.lists.declaration import ListDeclaration
from controlplane.dashboard.lists.export import export_response
from controlplane.dashboard.lists.filter_fields import filter_fields
from controlplane.dashboard.lists.query import (
    DENSITIES,
    FORMATS,
    PAGE_SIZES,
    SEARCH,
    ListQuery,
    address_with,
    view_query,
)
from controlplane.dashboard.lists.window import ListWindow
from controlplane.dashboard.pages import is_htmx, show
from controlplane.identity.domain import Caller
from controlplane.identity.selectors.saved_views import saved_views_of

PAGE, BODY, ROWS = "lists/page.html", "lists/body.html", "lists/rows.html"


def list_response(
    request: HttpRequest, caller: Caller, declaration: ListDeclaration, **context: Any
) -> HttpResponseBase:
    """The list as it was asked for. An address that asks for nothing opens the reader's own default view.

    A form of the page that was refused is answered with the list too; `is_refused` and the context say why.
    """
    if wanted := request.GET.get("export", ""):
        return export_response(ListQuery(declaration, caller, request.GET), wanted)
    views = saved_views_of(caller=caller, list_name=declaration.name)
    default = next((one for one in views if one.is_default and one.user_id == caller.user_id), None)
    if default is not None and request.method != "POST" and not request.GET and not is_htmx(request) and default.query:
        return redirect(address_with(declaration.path, default.query, view=str(default.pk)))
    query = ListQuery(
        declaration, caller, request.GET, view_query(default.query) if default else {}, default is not None
    )
    page = ListWindow(query).page()
    shown = declaration.prepare(caller, page.rows, query.asked)
    context |= {
        "list": declaration,
        "query": query,
        "page": page,
        "rows": shown,
        "is_live": declaration.is_live(page.rows),
    }
    if is_htmx(request) and getattr(request.htmx, "target", None) != "list":  # type: ignore[attr-defined]
        return show(request, caller, ROWS, declaration.section, **context)
    fields = filter_fields(query)
    context |= {
        "fields": fields,
        "has_more_fields": any(not one.is_first for one in fields),
        "shows_more_fields": any(not one.is_first and one.value for one in fields),
        "views": views,
        "view_open": request.GET.get("view", ""),
        "formats": FORMATS,
        "page_sizes": PAGE_SIZES,
        "densities": DENSITIES,
        "search_name": SEARCH,
    }
    if not is_htmx(request):
        return show(request, caller, PAGE, declaration.section, **context)
    body = show(request, caller, BODY, declaration.section, **context)
    # A form sends its empty fields too; the address says what was asked for, and no more.
    body.headers["HX-Replace-Url"] = query.address
    return body
