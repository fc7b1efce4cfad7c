"""The overview: are we fine, what needs a look, where there is room, who did what."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.overview.attention import attention
from controlplane.dashboard.overview.runway import runways
from controlplane.dashboard.overview.verdict import verdict
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.identity.domain import Caller
from scheduling.fleet.selectors.liveness import hosts_silent
from scheduling.fleet.selectors.zone_usage import fleet_usage_by_zone
from servers.catalog.selectors.quota import image_quota_state, quota_state
from servers.instances.selectors.activity import request_activity
from servers.instances.selectors.living import living
from servers.networks.selectors.quota import network_quota_state
from servers.volumes.selectors.quota import volume_quota_state

RECENT = 12
RESOURCES = ("VCPU", "MEMORY_MB", "DISK_GB")


@require_safe
@page("overview:read")
def overview(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Admins see the fleet and every project; others see their project. Asks again while something is under way."""
    silent = hosts_silent()
    counted = living(caller=caller, silent=silent)
    items = attention(caller, counted, silent)
    fleet = fleet_usage_by_zone(silent=silent) if caller.is_admin else None
    activity = request_activity(caller=caller, limit=RECENT)
    context = {
        "counts": counted.statuses,
        "total": counted.total,
        "items": items,
        "verdict": verdict(items, hosts_up=fleet.whole.up if fleet else None, instances=counted.total),
        "fleet": fleet,
        "resources": RESOURCES,
        "runways": runways(counted, fleet.whole.usage) if fleet else [],
        "quota": quota_state(project_id=caller.project_id) + image_quota_state(project_id=caller.project_id),
        "network_quota": network_quota_state(project_id=caller.project_id),
        "volume_quota": volume_quota_state(project_id=caller.project_id),
        "activity": activity,
        "is_live": "BUILD" in counted.statuses or any(one.under_way for one in activity),
    }
    template = "dashboard/overview_live.html" if is_htmx(request) else "dashboard/overview.html"
    return show(request, caller, template, "overview", **context)
