"""Pages of the backups of volumes: copies in the store, which outlive what they were made of."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page
from controlplane.dashboard.volumes.backup_listing import VOLUME_BACKUPS
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError
from servers.volumes.selectors.backups import backup_get
from servers.volumes.services.backups import BackupRequest, backup_create, backup_delete


@require_safe
@page("volume_backups:read")
def backup_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin. The rows look again while one is being made."""
    return list_response(request, caller, VOLUME_BACKUPS)


@require_POST
@page("volume_backups:write")
def backup_new(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Back the volume up: all of it, or what changed since the last one."""
    wanted = BackupRequest(
        volume_id=volume_id,
        name=request.POST.get("name", "").strip(),
        is_incremental=bool(request.POST.get("incremental")),
        keeps_snapshot=bool(request.POST.get("keep_snapshot")),
    )
    try:
        backup_create(caller=caller, request=wanted)
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
        return redirect("volume", volume_id=volume_id)
    said = _("The volume is being backed up. It is used as ever meanwhile.")
    messages.success(request, said, extra_tags="good")
    return redirect("volume-backups")


@require_POST
@page("volume_backups:write")
def backup_delete_view(request: HttpRequest, caller: Caller, backup_id: uuid.UUID) -> HttpResponse:
    """Remove it; one on which others rest is refused."""
    backup = backup_get(caller=caller, backup_id=backup_id)
    try:
        backup_delete(caller=caller, backup_id=backup_id)
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
    else:
        messages.success(request, _("Backup %(name)s is being deleted.") % {"name": backup}, extra_tags="good")
    return redirect("volume-backups")
