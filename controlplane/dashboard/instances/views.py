"""Pages of instances: list, create, one instance with its journey and console."""

import hashlib
import uuid
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.instances.console_text import printable_text
from controlplane.dashboard.instances.forms import InstanceForm
from controlplane.dashboard.instances.journey.sections import sections
from controlplane.dashboard.instances.timeline import is_changing, later, progress
from controlplane.dashboard.instances.usage_charts import axis_labels, usage_charts
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.simulate.trial import create_try, simulate_query
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.identity.selectors import projects_of_user
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from scheduling.fleet.selectors.zones import zone_list
from servers.catalog.selectors.flavor import flavors_visible
from servers.catalog.selectors.keypair import keypairs_of
from servers.catalog.selectors.quota import quota_state
from servers.catalog.selectors.server_group import server_groups_visible
from servers.conf import server_options
from servers.filtersets_instance import instance_filters
from servers.images.selectors import images_visible
from servers.instances.actions.refusal import verbs_allowed
from servers.instances.actions.table import RESET_STATE, VERBS
from servers.instances.domain.schedule_again import schedule_again_refusal
from servers.instances.domain.soft_delete import restorable_until
from servers.instances.selectors.guest_counters import CountersSpan, guest_counters
from servers.instances.selectors.instances import (
    PendingFirst,
    console_log_tail,
    instance_details,
    instance_get,
    instances_visible,
    latest_faults,
    pending_instances,
)
from servers.instances.selectors.journey import journey_records
from servers.instances.services.act import instance_act
from servers.instances.services.create import InstanceCreate, instances_create
from servers.instances.services.delete import instance_delete
from servers.instances.services.reset_state import instance_reset_state
from servers.instances.services.schedule_again import instance_schedule_again
from servers.states import STATUSES, api_status

PAGE_SIZE = 25
CONSOLE_LINES = 200
CONSOLE_PAGE_LINES = 2000
# htmx's own status: show this, and ask no more.
HTMX_STOP_POLLING = 286


@require_safe
@page("instances:read")
def instance_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Filter, page, and live states: the rows ask again every few seconds while one of them changes."""
    everywhere = caller.is_admin and request.GET.get("all_projects") == "1"
    filter_class = instance_filters(is_admin=caller.is_admin)
    filters = filter_class(request.GET, queryset=instances_visible(caller=caller, all_projects=everywhere))
    waiting = pending_instances(caller=caller, all_projects=everywhere)
    rows = PendingFirst(filter_class.pending(waiting, request.GET), filters.qs)
    here = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": here,
        "is_filtered": any(value for key, value in request.GET.items() if key not in {"all_projects", "page"}),
        "statuses": STATUSES,
        "is_live": any(is_changing(one) for one in here),
        "everywhere": everywhere,
        "project_names": {one.pk: one.name for one in projects_of_user(user=request.user)} if everywhere else {},
    }
    template = "dashboard/instance_rows.html" if is_htmx(request) else "dashboard/instance_list.html"
    return show(request, caller, template, "instances", **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:create")
def instance_create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The form, with what is left of the quota; the service's refusals appear at their fields.

    Its second button only tries: the answer appears below the form, and nothing is written.
    """
    form = _form(request, caller)
    if "try" in request.POST:
        return _tried(request, caller, form)
    if request.method == "POST" and form.is_valid():
        try:
            made = instances_create(caller=caller, wanted=InstanceCreate(**form.wanted()))
        except KilonovaError as error:
            errors_add(form, error, FORM_FIELDS)
        else:
            names = made[0].name if len(made) == 1 else f"{len(made)} instances, {made[0].name} to {made[-1].name},"
            messages.success(request, f"{names} requested.", extra_tags="good")
            return redirect("instance", instance_id=made[0].pk) if len(made) == 1 else redirect("instances")
    context = {"form": form.ready(), "quota": quota_state(project_id=caller.project_id)}
    return show(request, caller, "dashboard/instance_create.html", "instances", **context)


def _tried(request: HttpRequest, caller: Caller, form: InstanceForm) -> HttpResponse:
    """The form again, with its errors at their fields or with what a create would do."""
    context: dict[str, Any] = {"is_trial": True}
    if form.is_valid():
        try:
            wanted = InstanceCreate(**form.wanted())
            context |= {"trial": create_try(caller=caller, wanted=wanted), "trial_query": simulate_query(wanted)}
        except KilonovaError as error:
            errors_add(form, error, FORM_FIELDS)
    context["form"] = form.ready() if form.errors else form
    if is_htmx(request):
        return show(request, caller, "dashboard/instance_form.html", "instances", **context)
    context["quota"] = quota_state(project_id=caller.project_id)
    return show(request, caller, "dashboard/instance_create.html", "instances", **context)


def _form(request: HttpRequest, caller: Caller) -> InstanceForm:
    return InstanceForm(
        request.POST if request.method == "POST" else None,
        flavors=list(flavors_visible(caller=caller)),
        images=list(images_visible(caller=caller)),
        keypairs=list(keypairs_of(user_id=caller.user_id)),
        groups=list(server_groups_visible(caller=caller)),
        zones=[zone.name for zone in zone_list()],
        may_name_host=caller.is_admin,
        is_trial="try" in request.POST,
    )


# Where the service's names of fields differ from the form's.
FORM_FIELDS = {"max_count": "min_count", "count": "min_count", "hints": "group"}


@require_safe
@page("instances:read")
def instance_detail(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """State, facts, journey, console. Its live part asks again while the instance changes."""
    try:
        context = _detail(caller, instance_id)
    except NotFound:
        if not is_htmx(request):
            raise
        return _gone(request, caller)
    seen = request.GET.get("seen", "")
    if not is_htmx(request):
        context |= _usage(context["instance"], request.GET.get("span", ""))
    context["announcement"] = context["status"] if seen and seen != context["status"] else ""
    template = "dashboard/instance_live.html" if is_htmx(request) else "dashboard/instance_detail.html"
    return show(request, caller, template, "instances", **context)


def _gone(request: HttpRequest, caller: Caller) -> HttpResponse:
    response = show(request, caller, "dashboard/instance_gone.html", "instances")
    response.status_code = HTMX_STOP_POLLING
    return response


def _detail(caller: Caller, instance_id: uuid.UUID) -> dict[str, Any]:
    instance = instance_get(caller=caller, instance_id=instance_id)
    details = instance_details(instance)
    records = journey_records(instance_id=instance.pk, reservation_id=instance.reservation_id)
    return {
        "instance": instance,
        "tags": details.tags,
        "metadata": sorted(details.metadata.items()),
        "status": api_status(instance.vm_state, instance.task_state),
        "fault": latest_faults([instance.pk]).get(instance.pk) if instance.vm_state == "error" else None,
        "actions": verbs_allowed(instance, caller),
        "interval_s": server_options().reclaim_instance_interval_s,
        "restorable_until": restorable_until(instance.soft_deleted_at, server_options().reclaim_instance_interval_s),
        "may_reset": allows(caller, RESET_STATE.policy) and not instance.is_pending,
        "may_again": not schedule_again_refusal(instance, caller),
        "sections": sections(instance, records, now=timezone.now(), is_admin=caller.is_admin),
        "later": later(instance, records, is_admin=caller.is_admin),
        "is_live": is_changing(instance),
        "progress": progress(instance, records),
        **_console(instance, CONSOLE_LINES),
    }


def _usage(instance: Any, span: str) -> dict[str, Any]:
    """Charts of what it uses; nothing of one that is on no host."""
    if not instance.host:
        return {}
    counters = guest_counters(instance, CountersSpan.DAY if span == CountersSpan.DAY else CountersSpan.HOUR)
    charts = usage_charts(counters, memory_mib=instance.memory_mib)
    return {"counters": counters, "charts": charts, "spans": list(CountersSpan), "axis": axis_labels(counters)}


def _console(instance: Any, lines: int) -> dict[str, Any]:
    """The end of the log; by its digest a browser that has it already gets nothing."""
    text = printable_text(console_log_tail(instance_id=instance.pk, lines=lines))
    return {
        "console": text,
        "console_lines": lines,
        "console_digest": hashlib.sha256(text.encode()).hexdigest()[:16],
        "console_is_live": is_changing(instance) or instance.power_state == "running",
        "has_console": bool(text or instance.host),
    }


@require_POST
@page("instances:act")
def instance_act_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """An action of the table, by its name."""
    action = request.POST.get("action", "")
    taken = VERBS[action].arguments if action in VERBS else ()
    arguments = {one.name: request.POST.get(one.name, "").strip() for one in taken}
    try:
        instance_act(caller=caller, instance_id=instance_id, action=action, arguments=arguments)
    except KilonovaError as error:
        messages.error(request, error.message, extra_tags="bad")
    return redirect("instance", instance_id=instance_id)


@require_POST
@page("instances:act")
def instance_again_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Schedule again what found no host; asks nothing more, the page asked already."""
    try:
        instance_schedule_again(instance_id=instance_id, caller=caller)
    except NotFound:
        raise
    except KilonovaError as error:
        messages.error(request, error.message, extra_tags="bad")
    else:
        messages.success(request, "A host is looked for again.", extra_tags="good")
    return redirect("instance", instance_id=instance_id)


@require_POST
@page("instances:reset_state")
def instance_reset_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Reset the state, as the page asked."""
    state, reason = request.POST.get("state", ""), request.POST.get("reason", "").strip()
    try:
        instance_reset_state(caller=caller, instance_id=instance_id, state=state, reason=reason)
    except NotFound:
        raise
    except KilonovaError as error:
        messages.error(request, error.message, extra_tags="bad")
    return redirect("instance", instance_id=instance_id)


@require_POST
@page("instances:delete")
def instance_delete_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Delete it; asks nothing more, the page asked already."""
    name, is_forced = instance_get(caller=caller, instance_id=instance_id).name, request.POST.get("force") == "1"
    try:
        instance_delete(caller=caller, instance_id=instance_id, is_forced=is_forced)
    except Conflict as error:
        messages.error(request, error.message, extra_tags="bad")
        return redirect("instance", instance_id=instance_id)
    messages.success(request, f"{name} is being deleted.", extra_tags="good")
    return redirect("instances")


@require_safe
@page("instances:read")
def instance_usage(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """The live part of the instance's page that shows what it uses; by itself it leads to that page."""
    span = request.GET.get("span", "")
    if not is_htmx(request):
        instance_get(caller=caller, instance_id=instance_id)
        return redirect(f"{reverse('instance', kwargs={'instance_id': instance_id})}?{urlencode({'span': span})}#use")
    try:
        instance = instance_get(caller=caller, instance_id=instance_id)
    except NotFound:
        return HttpResponse(status=HTMX_STOP_POLLING)
    context = _usage(instance, span)
    if not context:
        return HttpResponse(status=HTMX_STOP_POLLING)
    return show(request, caller, "dashboard/instance_usage.html", "instances", instance=instance, **context)


@require_safe
@page("instances:console")
def instance_console(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """The end of the serial log: a page of its own, or the live part of the instance's page.

    While the guest runs and has written nothing new, the answer to the live part is 204: what a person reads,
    selects or has scrolled to stays.
    """
    try:
        instance = instance_get(caller=caller, instance_id=instance_id)
    except NotFound:
        if not is_htmx(request):
            raise
        return HttpResponse(status=HTMX_STOP_POLLING)
    records = _console(instance, CONSOLE_LINES if is_htmx(request) else CONSOLE_PAGE_LINES)
    if is_htmx(request) and records["console_is_live"] and request.GET.get("seen") == records["console_digest"]:
        return HttpResponse(status=204)
    template = "dashboard/instance_console.html" if is_htmx(request) else "dashboard/instance_console_page.html"
    return show(request, caller, template, "instances", instance=instance, **records)
