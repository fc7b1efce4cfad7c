"""Pages of the backups of volumes: copies in the store, which outlive what they were made of."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.form_saved import changed_text, form_saved
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.volumes.acts import act_done, state_asked
from controlplane.dashboard.volumes.backup_listing import VOLUME_BACKUPS
from controlplane.dashboard.volumes.copy_forms import BackupEditForm, RestoreForm
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Invalid, KilonovaError
from controlplane.kernel.ids import parse_uuid
from servers.volumes.backups.removal import backup_force_delete
from servers.volumes.domain.states import BackupState
from servers.volumes.selectors.backups import backup_get
from servers.volumes.services.backups import (
    BackupRequest,
    backup_create,
    backup_delete,
    backup_reset_state,
    backup_restore,
    backup_update,
)
from servers.volumes.services.restorable import volumes_restorable

SECTION = "volume-backups"


@require_safe
@page("volume_backups:read")
def backup_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin. The rows look again while one is being made."""
    return list_response(request, caller, VOLUME_BACKUPS)


@require_POST
@page("volume_backups:write")
def backup_new(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Back up the volume as it is now, or one of its snapshots: all of it, or what changed since the last one."""
    try:
        backup_create(caller=caller, request=_wanted(request, volume_id))
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
        return redirect("volume", volume_id=volume_id)
    said = _("The volume is being backed up. It is used as ever meanwhile.")
    messages.success(request, said, extra_tags="good")
    return redirect("volume-backups")


def _wanted(request: HttpRequest, volume_id: uuid.UUID) -> BackupRequest:
    """The backup that the form asks for. Raises Invalid for what cannot be read."""
    said = {name: request.POST.get(name, "").strip() for name in ("name", "snapshot", "full_after")}
    snapshot_id, is_incremental = parse_uuid(said["snapshot"]), bool(request.POST.get("incremental"))
    if said["snapshot"] and snapshot_id is None:
        raise Invalid(_("Name the snapshot."), field="snapshot")
    after = said["full_after"]
    if after and not (after.isascii() and after.isdigit() and len(after) < 10):
        raise Invalid(_("After how many increments is a whole number."), field="full_after")
    return BackupRequest(
        volume_id=volume_id,
        snapshot_id=snapshot_id,
        name=said["name"],
        is_incremental=is_incremental,
        full_after=int(after or 0),
        keeps_snapshot=bool(request.POST.get("keep_snapshot")),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@page("volume_backups:write")
def backup_edit(request: HttpRequest, caller: Caller, backup_id: uuid.UUID) -> HttpResponse:
    """Name and description."""
    backup = backup_get(caller=caller, backup_id=backup_id)
    initial = BackupEditForm.initial_of(backup)
    form = BackupEditForm(request.POST if request.method == "POST" else None, initial=initial)
    changed = form_saved(
        request,
        form,
        lambda: backup_update(caller=caller, backup_id=backup.pk, changes=form.changes()),
        changed_text,
    )
    if changed is not None:
        return redirect("volume-backups")
    return show(request, caller, "dashboard/volumes/backup_edit.html", SECTION, form=form, backup=backup)


@require_http_methods(["GET", "HEAD", "POST"])
@page("volumes:write")
def backup_restore_view(request: HttpRequest, caller: Caller, backup_id: uuid.UUID) -> HttpResponse:
    """Choose a volume that gets its bytes; the page says that what the volume has is lost."""
    backup = backup_get(caller=caller, backup_id=backup_id)
    volumes = volumes_restorable(caller=caller, backup=backup)
    form = RestoreForm(request.POST if request.method == "POST" else None, volumes=volumes)
    volume = form_saved(
        request,
        form,
        lambda: backup_restore(caller=caller, backup_id=backup.pk, volume_id=uuid.UUID(form.cleaned_data["volume"])),
        lambda row: _("%(volume)s is getting what backup %(backup)s has.") % {"volume": row, "backup": backup},
    )
    if volume is not None:
        return redirect("volume", volume_id=volume.pk)
    context = {
        "form": form,
        "backup": backup,
        "volumes": volumes,
        "is_available": backup.state == BackupState.AVAILABLE,
    }
    return show(request, caller, "dashboard/volumes/backup_restore.html", SECTION, **context)


@require_POST
@page("volume_backups:write")
def backup_delete_view(request: HttpRequest, caller: Caller, backup_id: uuid.UUID) -> HttpResponse:
    """Remove it, for administrators by force, too; one on which others rest is refused."""
    backup = backup_get(caller=caller, backup_id=backup_id)
    delete = backup_force_delete if request.POST.get("force") == "1" else backup_delete

    def act() -> str:
        delete(caller=caller, backup_id=backup_id)
        return _("Backup %(name)s is being deleted.") % {"name": backup}

    return act_done(request, act, SECTION)


@require_POST
@page("volumes:reset_state")
def backup_reset_view(request: HttpRequest, caller: Caller, backup_id: uuid.UUID) -> HttpResponse:
    """Write its state by hand, for administrators."""
    backup_get(caller=caller, backup_id=backup_id)

    def act() -> str:
        after = backup_reset_state(backup_id=backup_id, state=state_asked(request, BackupState))
        return _("%(name)s is %(state)s now.") % {"name": after, "state": _(after.state)}

    return act_done(request, act, SECTION)
