"""The overview: fleet, instances by state, recent activity."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.identity.domain import Caller
from scheduling.fleet.selectors.hosts import fleet_stats
from servers.catalog.selectors.quota import image_quota_state, quota_state
from servers.instances.selectors.activity import recent_activity, status_counts

RECENT = 12


@require_safe
@page("overview:read")
def overview(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Admins see the fleet and every project; others see their project. Asks again while something is under way."""
    counts = status_counts(caller=caller)
    activity = recent_activity(caller=caller, limit=RECENT)
    context = {
        "counts": counts,
        "total": sum(counts.values()),
        "fleet": fleet_stats() if caller.is_admin else None,
        "quota": quota_state(project_id=caller.project_id) + image_quota_state(project_id=caller.project_id),
        "activity": activity,
        "is_live": "BUILD" in counts or any(not one.action.result for one in activity),
    }
    template = "dashboard/overview_live.html" if is_htmx(request) else "dashboard/overview.html"
    return show(request, caller, template, "overview", **context)
