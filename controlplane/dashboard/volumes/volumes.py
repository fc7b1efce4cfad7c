"""Pages of volumes: the list, one with its attachments, snapshots and backups, and the forms of one."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.dashboard.bulk_jobs.bar import bulk_list_response
from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.dashboard.volumes.forms import VolumeEditForm, VolumePageForm
from controlplane.dashboard.volumes.listing import VOLUMES
from controlplane.dashboard.volumes.words import is_busy
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import KilonovaError, NotFound
from servers.bulk.domain import BulkKind
from servers.images.selectors import images_listed
from servers.instances.selectors.block_devices import volume_mappings
from servers.instances.selectors.instances import instances_visible
from servers.networks.selectors.topology import instance_names
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.selectors.backups import backups_visible, snapshots_wanted
from servers.volumes.selectors.quota import volume_quota_state
from servers.volumes.selectors.volume_types import volume_types_visible
from servers.volumes.selectors.volumes import snapshots_visible, transfers_visible, volume_get, volumes_shown
from servers.volumes.services.volumes import volume_create, volume_update

PAGE_SIZE = 50
MAX_CHOICES = 500
SECTION = "volumes"
HTMX_STOP_POLLING = 286
GIVEN_TO = ("active", "paused", "stopped", "resized", "shelved", "shelved_offloaded")
"""Instances in these states take a volume."""


@require_safe
@page("volumes:read")
def volume_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin. The rows look again while one of them changes."""
    return bulk_list_response(request, caller, VOLUMES, BulkKind.VOLUME)


@require_safe
@page("volumes:read")
def volume_detail(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """One volume. Its live part asks again while it changes."""
    try:
        context = _detail(caller, volume_id)
    except NotFound:
        if not is_htmx(request):
            raise
        response = show(request, caller, "dashboard/volumes/volume_gone.html", SECTION)
        response.status_code = HTMX_STOP_POLLING
        return response
    template = "dashboard/volumes/volume_live.html" if is_htmx(request) else "dashboard/volumes/volume_detail.html"
    return show(request, caller, template, SECTION, **context)


def _detail(caller: Caller, volume_id: uuid.UUID) -> dict[str, Any]:
    volume = volume_get(caller=caller, volume_id=volume_id)
    attachments = list(volume.attachments.all())
    snapshots = list(snapshots_visible(caller).filter(volume=volume.pk).order_by("-created_at", "pk")[:MAX_CHOICES])
    wanted = list(snapshots_wanted(volume).order_by("-created_at", "-pk").values_list("pk", flat=True))
    return {
        "volume": volume,
        "attachments": attachments,
        "mappings": volume_mappings(volume.pk) if attachments else {},
        "names": instance_names({one.instance_uuid for one in attachments}),
        "snapshots": snapshots,
        "metadata": sorted(volume.metadata.items()),
        "snapshot_choices": [one for one in snapshots if one.state == VolumeSnapshotState.AVAILABLE],
        "wanted_snapshots": len(wanted),
        "newest_snapshot": wanted[0] if wanted else None,
        "is_live": is_busy(volume.state) or any(is_busy(one.state) for one in snapshots),
        "choices": _choices(caller, volume),
        "types": _other_types(caller, volume),
        "offer": transfers_visible(caller).filter(volume=volume.pk).first(),
        "may_write": caller.can_write and (caller.is_admin or caller.own_project_id == volume.project_id),
    }


def _other_types(caller: Caller, volume: Any) -> list[Any]:
    """The types that it could get."""
    if not caller.can_write or volume.state not in (VolumeState.AVAILABLE, VolumeState.IN_USE):
        return []
    return list(volume_types_visible(caller).exclude(pk=volume.volume_type_id).order_by("name")[:MAX_CHOICES])


def _choices(caller: Caller, volume: Any) -> list[Any]:
    """Instances of the volume's project that it may be given to, and that do not have it."""
    is_free = volume.state == VolumeState.AVAILABLE or (volume.is_multiattach and volume.state == VolumeState.IN_USE)
    if not is_free or not caller.can_write:
        return []
    rows = instances_visible(caller=caller, all_projects=caller.is_admin).filter(project_id=volume.project_id)
    rows = rows.exclude(pk__in=[one.instance_uuid for one in volume.attachments.all()])
    return list(rows.filter(vm_state__in=GIVEN_TO).order_by("name", "pk")[:MAX_CHOICES])


@require_http_methods(["GET", "HEAD", "POST"])
@page("volumes:write")
def volume_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A volume, blank or with what an image, snapshot, volume or backup has. `?source=snapshot:ID` fills it in."""
    form = VolumePageForm(
        request.POST if request.method == "POST" else None,
        initial={"source": filter_text(request, "source"), "size_gib": filter_text(request, "size_gib") or None},
        types=list(volume_types_visible(caller).order_by("name")[:MAX_CHOICES]),
        images=list(images_listed(caller=caller)[:MAX_CHOICES]),
        snapshots=list(snapshots_visible(caller).filter(project=caller.project_id, state="available")[:MAX_CHOICES]),
        volumes=list(volumes_shown(caller).filter(project=caller.project_id)[:MAX_CHOICES]),
        backups=list(backups_visible(caller).filter(project=caller.project_id, state="available")[:MAX_CHOICES]),
        may_name_pool=caller.is_admin,
    )
    if request.method == "POST" and form.is_valid():
        try:
            volume = volume_create(caller=caller, request=form.volume_request())
        except KilonovaError as error:
            errors_add(form, error, {"source_id": "source", "source_kind": "source"})
        else:
            said = _("%(name)s is being made.") % {"name": volume.name or volume.pk}
            messages.success(request, said, extra_tags="good")
            return redirect("volume", volume_id=volume.pk)
    context = {"form": form, "quota": volume_quota_state(project_id=caller.project_id)}
    return show(request, caller, "dashboard/volumes/volume_form.html", SECTION, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("volumes:write")
def volume_edit(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Name, description, metadata, and whether it may be written to and booted from."""
    volume = volume_get(caller=caller, volume_id=volume_id)
    initial = VolumeEditForm.initial_of(volume)
    form = VolumeEditForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            volume_update(caller=caller, volume_id=volume.pk, changes=form.changes())
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            said = _("%(name)s was changed.") % {"name": form.cleaned_data["name"] or volume.pk}
            messages.success(request, said, extra_tags="good")
            return redirect("volume", volume_id=volume.pk)
    context = {"form": form, "volume": volume}
    return show(request, caller, "dashboard/volumes/volume_edit.html", SECTION, **context)
