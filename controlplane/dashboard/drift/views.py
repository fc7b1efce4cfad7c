"""Pages of drift and of heals, for admins: what is out of step, putting it right, what was put right."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.drift.listing import DRIFT, HEALS
from controlplane.dashboard.drift.rows import last_drift_check
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.natural import natural_key
from scheduling.fleet.selectors.liveness import hosts_silent
from servers.networks.selectors.ovn import ovn_status
from servers.repair.services.drift import drift_check_request, drift_heal

SILENT_SHOWN = 12
"""Hosts that are named; the list of hosts has all."""


@require_safe
@page("drift:read")
def drift_page(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The drift as the last checks found it; a page costs a constant number of queries, however much is out of step."""
    context = {
        "last_check": last_drift_check(),
        "ovn": ovn_status(),
        "silent": sorted(hosts_silent().values(), key=lambda one: natural_key(one.host)),
        "silent_shown": SILENT_SHOWN,
    }
    return list_response(request, caller, DRIFT, **context)


@require_POST
@page("drift:write")
def drift_heal_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Put one right, then the list as it was filtered. The list shows what was refused."""
    try:
        healed = drift_heal(key=request.POST.get("key", ""), actor=caller.username)
    except (Conflict, NotFound) as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
    else:
        messages.success(request, f"{healed.drift.subject}: {healed.message}", extra_tags="good")
    query = QueryDict(request.POST.get("filters", "")[:2000]).urlencode()
    return redirect(reverse("drift") + (f"?{query}" if query else ""))


@require_POST
@page("drift:write")
def drift_check_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Ask for a check now; the page shows what it finds once it is done."""
    is_new = drift_check_request()
    text = (
        _("A check was asked for; its result stands here in a moment.")
        if is_new
        else _("A check is under way already.")
    )
    messages.success(request, text, extra_tags="good")
    return redirect("drift")


@require_safe
@page("heals:read")
def heal_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Newest first. A page costs a constant number of queries."""
    return list_response(request, caller, HEALS)
