"""Pages of drift and of heals, for admins: what is out of step, putting it right, what was put right."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.drift.rows import (
    drift_groups,
    drift_kinds_on_offer,
    heal_kinds_on_offer,
    heal_query,
    heal_rows,
    last_drift_check,
)
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, NotFound
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_of, drift_rows
from servers.repair.services.drift import drift_check_request, drift_heal

PAGE_SIZE = 50
HEAL_PAGE_SIZE = 25


@require_safe
@page("drift:read")
def drift_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The drift as the last checks found it; a page costs a constant number of queries, however much is out of step."""
    kind, host = filter_text(request, "kind"), filter_text(request, "host")
    kinds = [one for one in DriftKind if one.value == kind] or None
    here = Paginator(drift_rows(kinds=kinds, host=host), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": here,
        "groups": drift_groups(map(drift_of, here)),
        "kind": kind if kinds else "",
        "host": host,
        "kinds": drift_kinds_on_offer(),
        "last_check": last_drift_check(),
    }
    template = "dashboard/drift_rows.html" if is_htmx(request) else "dashboard/drift.html"
    return show(request, caller, template, "drift", **context)


@require_POST
@page("drift:write")
def drift_heal_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Put one right, then the list as it was filtered. The list shows what was refused."""
    try:
        healed = drift_heal(key=request.POST.get("key", ""), actor=caller.username)
    except (Conflict, NotFound) as error:
        messages.error(request, error.message, extra_tags="bad")
    else:
        messages.success(request, f"{healed.drift.subject}: {healed.message}", extra_tags="good")
    query = QueryDict(request.POST.get("filters", "")[:2000]).urlencode()
    return redirect(reverse("drift") + (f"?{query}" if query else ""))


@require_POST
@page("drift:write")
def drift_check_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Ask for a check now; the page shows what it finds once it is done."""
    is_new = drift_check_request()
    text = "A check was asked for; its result stands here in a moment." if is_new else "A check is under way already."
    messages.success(request, text, extra_tags="good")
    return redirect("drift")


@require_safe
@page("heals:read")
def heal_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Newest first. A page costs a constant number of queries."""
    query = heal_query(request.GET)
    here = Paginator(query.rows, HEAL_PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": here, "rows": heal_rows(list(here)), "query": query, "kinds": heal_kinds_on_offer()}
    template = "dashboard/heal_rows.html" if is_htmx(request) else "dashboard/heal_list.html"
    return show(request, caller, template, "drift", **context)
