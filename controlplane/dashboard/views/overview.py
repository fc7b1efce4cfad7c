"""The overview: fleet, instances by state, recent activity."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.views.pages import page, show
from controlplane.identity.domain import Caller
from scheduling.selectors.hosts import fleet_stats
from servers.selectors.activity import recent_activity, status_counts
from servers.selectors.quota import quota_state

RECENT = 12
BAD = {"ERROR", "UNKNOWN"}


@require_safe
@page("instances:read")
def overview(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Admins see the fleet and every project; others see their project."""
    counts = status_counts(caller=caller)
    context = {
        "counts": counts,
        "total": sum(counts.values()),
        "fleet": fleet_stats() if caller.is_admin else None,
        "quota": quota_state(project_id=caller.project_id),
        "activity": recent_activity(caller=caller, limit=RECENT),
    }
    template = "dashboard/overview_live.html" if request.htmx else "dashboard/overview.html"  # type: ignore[attr-defined]  # django-htmx
    return show(request, caller, template, "overview", **context)
