"""Pages of the snapshots of volumes."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.dashboard.form_saved import changed_text, form_saved
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.volumes.copy_forms import SnapshotEditForm
from controlplane.dashboard.volumes.snapshot_listing import VOLUME_SNAPSHOTS
from controlplane.identity.domain import Caller
from servers.volumes.selectors.volumes import snapshot_get
from servers.volumes.services.snapshots import snapshot_update

SECTION = "volume-snapshots"


@require_safe
@page("volume_snapshots:read")
def snapshot_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin."""
    return list_response(request, caller, VOLUME_SNAPSHOTS)


@require_http_methods(["GET", "HEAD", "POST"])
@page("volume_snapshots:write")
def snapshot_edit(request: HttpRequest, caller: Caller, snapshot_id: uuid.UUID) -> HttpResponse:
    """Name, description and metadata."""
    snapshot = snapshot_get(caller=caller, snapshot_id=snapshot_id)
    initial = SnapshotEditForm.initial_of(snapshot)
    form = SnapshotEditForm(request.POST if request.method == "POST" else None, initial=initial)
    changed = form_saved(
        request,
        form,
        lambda: snapshot_update(caller=caller, snapshot_id=snapshot.pk, changes=form.changes()),
        changed_text,
    )
    if changed is not None:
        return redirect("volume", volume_id=snapshot.volume_id)
    context = {"form": form, "snapshot": snapshot}
    return show(request, caller, "dashboard/volumes/snapshot_edit.html", SECTION, **context)
