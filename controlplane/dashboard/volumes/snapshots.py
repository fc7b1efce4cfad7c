"""The page of the snapshots of all volumes."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page
from controlplane.dashboard.volumes.snapshot_listing import VOLUME_SNAPSHOTS
from controlplane.identity.domain import Caller


@require_safe
@page("volume_snapshots:read")
def snapshot_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin."""
    return list_response(request, caller, VOLUME_SNAPSHOTS)
