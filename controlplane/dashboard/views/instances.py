"""Pages of instances: list, create, one instance with its journey and console."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.forms import InstanceForm
from controlplane.dashboard.timeline import timeline
from controlplane.dashboard.views.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import InvalidFields, KilonovaError
from scheduling.selectors.zones import zone_list
from servers.domain.actions import allowed_actions
from servers.domain.states import STATUSES, api_status
from servers.filtersets_instance import InstanceFilterSet
from servers.selectors.flavor import flavors_visible
from servers.selectors.image import images_visible
from servers.selectors.instance import (
    PendingFirst,
    console_log_tail,
    instance_get,
    instances_visible,
    journey,
    latest_faults,
    pending_instances,
)
from servers.selectors.keypair import keypairs_of
from servers.selectors.quota import quota_state
from servers.selectors.server_group import server_groups_visible
from servers.services.instance_create import InstanceCreate, instances_create
from servers.services.instance_delete import instance_delete
from servers.services.instance_power import instance_act

PAGE_SIZE = 25
CONSOLE_LINES = 200


@require_safe
@page("instances:read")
def instance_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Filter, page, and live states: the rows ask again every few seconds while one of them changes."""
    everywhere = caller.is_admin and request.GET.get("all_projects") == "1"
    filters = InstanceFilterSet(request.GET, queryset=instances_visible(caller=caller, all_projects=everywhere))
    rows = PendingFirst(
        pending_instances(caller=caller, all_projects=everywhere), filters.qs, InstanceFilterSet.keeper(request.GET)
    )
    here = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "page": here,
        "query": query.urlencode(),
        "is_filtered": any(value for key, value in query.items() if key != "all_projects"),
        "statuses": STATUSES,
        "is_live": any(_is_changing(one.vm_state, one.task_state) for one in here),
        "everywhere": everywhere,
    }
    template = "dashboard/instance_rows.html" if request.htmx else "dashboard/instance_list.html"  # type: ignore[attr-defined]  # django-htmx
    return show(request, caller, template, "instances", **context)


def _is_changing(vm_state: str, task_state: str) -> bool:
    return vm_state == "building" or bool(task_state)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:create")
def instance_create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The form, with what is left of the quota; the service's refusals appear at their fields."""
    form = InstanceForm(
        request.POST or None,
        flavors=list(flavors_visible(caller=caller)),
        images=list(images_visible(caller=caller)),
        keypairs=list(keypairs_of(user_id=caller.user_id)),
        groups=list(server_groups_visible(caller=caller)),
        zones=[zone.name for zone in zone_list()],
    )
    if request.method == "POST" and form.is_valid():
        try:
            made = instances_create(caller=caller, wanted=InstanceCreate(**form.wanted()))
        except KilonovaError as error:
            _add_errors(form, error)
        else:
            messages.success(request, f"{len(made)} requested: {made[0].name}.", extra_tags="good")
            return redirect("instance", instance_id=made[0].pk) if len(made) == 1 else redirect("instances")
    context = {"form": form, "quota": quota_state(project_id=caller.project_id)}
    return show(request, caller, "dashboard/instance_create.html", "instances", **context)


def _add_errors(form: InstanceForm, error: KilonovaError) -> None:
    reasons = error.errors if isinstance(error, InvalidFields) else {error.field or "": [error.message]}
    for field, texts in reasons.items():
        root = field.split(".")[0]
        for text in texts:
            form.add_error(root if root in form.fields else None, text)


@require_safe
@page("instances:read")
def instance_detail(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """State, facts, journey, console. Its live part asks again while the instance changes."""
    context = _detail(caller, instance_id)
    template = "dashboard/instance_live.html" if request.htmx else "dashboard/instance_detail.html"  # type: ignore[attr-defined]  # django-htmx
    return show(request, caller, template, "instances", **context)


def _detail(caller: Caller, instance_id: uuid.UUID) -> dict[str, Any]:
    instance = instance_get(caller=caller, instance_id=instance_id)
    told = journey(instance.pk)
    return {
        "instance": instance,
        "status": api_status(instance.vm_state, instance.task_state),
        "fault": latest_faults([instance.pk]).get(instance.pk) if instance.vm_state == "error" else None,
        "actions": allowed_actions(instance.vm_state, instance.task_state, has_host=bool(instance.host)),
        "timeline": timeline(instance, told, is_admin=caller.is_admin),
        "is_live": _is_changing(instance.vm_state, instance.task_state),
        "console": console_log_tail(instance_id=instance.pk, lines=CONSOLE_LINES),
    }


@require_POST
@page("instances:act")
def instance_act_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Start, stop, reboot."""
    try:
        instance_act(caller=caller, instance_id=instance_id, action=request.POST.get("action", ""))
    except KilonovaError as error:
        messages.error(request, error.message, extra_tags="bad")
    return redirect("instance", instance_id=instance_id)


@require_POST
@page("instances:delete")
def instance_delete_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Delete it; asks nothing more, the page asked already."""
    name = instance_get(caller=caller, instance_id=instance_id).name
    instance_delete(caller=caller, instance_id=instance_id)
    messages.success(request, f"{name} is being deleted.", extra_tags="good")
    return redirect("instances")


@require_safe
@page("instances:read")
def instance_console(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Only the end of the serial log, for the live part of the page."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    text = console_log_tail(instance_id=instance.pk, lines=CONSOLE_LINES)
    return render(request, "dashboard/instance_console.html", {"instance": instance, "console": text})
