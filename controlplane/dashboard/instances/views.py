"""Pages of instances: list, create, one instance with its journey and console."""

import hashlib
import uuid
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from controlplane.dashboard.bulk_jobs.bar import bulk_list_response
from controlplane.dashboard.instances.action_menu import action_menu
from controlplane.dashboard.instances.console_text import printable_text
from controlplane.dashboard.instances.console_views import TABS
from controlplane.dashboard.instances.journey.sections import sections
from controlplane.dashboard.instances.listing import INSTANCES
from controlplane.dashboard.instances.timeline import is_changing, later, progress
from controlplane.dashboard.instances.usage_charts import axis_labels, usage_charts
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound
from servers.bulk.domain import BulkKind
from servers.conf import server_options
from servers.instances.domain.schedule_again import schedule_again_refusal
from servers.instances.domain.silence_words import waits_notice
from servers.instances.domain.soft_delete import ends_at
from servers.instances.domain.state_reasons import reason_sentence, shows_fault
from servers.instances.selectors.block_devices import instance_disks
from servers.instances.selectors.guest_counters import CountersSpan, guest_counters
from servers.instances.selectors.instances import (
    console_log_tail,
    instance_details,
    instance_get,
    latest_faults,
)
from servers.instances.selectors.interfaces import addresses_by_network, instance_interfaces
from servers.instances.selectors.journey import journey_records
from servers.instances.selectors.silence import silence_of
from servers.states import api_status, power_name

CONSOLE_LINES = 200
CONSOLE_PAGE_LINES = 2000
# htmx's own status: show this, and ask no more.
HTMX_STOP_POLLING = 286


@require_safe
@page("instances:read")
def instance_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project, of every project for an admin who asks. The rows look again while one of them changes."""
    return bulk_list_response(request, caller, INSTANCES, BulkKind.INSTANCE)


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
    interfaces = instance_interfaces([instance]).get(instance.pk, ())
    silence = silence_of(instance)
    waits = waits_notice(silence)
    return {
        "instance": instance,
        "tags": details.tags,
        "metadata": sorted(details.metadata.items()),
        "status": api_status(instance.vm_state, instance.task_state),
        "fault": latest_faults([instance.pk]).get(instance.pk) if shows_fault(instance) else None,
        "power_sentence": reason_sentence(instance),
        "on_crash": instance.on_crash or server_options().guest_on_crash,
        "power": power_name(instance.power_state),
        "menu": action_menu(instance, caller),
        "silence": silence,
        "interfaces": interfaces,
        "disks": instance_disks([instance]).get(instance.pk, ()),
        "addresses": addresses_by_network(instance, interfaces),
        "restorable_until": ends_at(instance.soft_deleted_at, server_options().reclaim_instance_interval_s),
        "rescued_until": ends_at(instance.rescued_at, server_options().rescue_timeout_s),
        "sections": sections(instance, records, now=timezone.now(), is_admin=caller.is_admin),
        "later": later(instance, records, is_admin=caller.is_admin, waits=waits),
        "offers_next": bool(instance.decision_id) and not schedule_again_refusal(instance, caller),
        "is_live": is_changing(instance),
        "progress": progress(instance, records, waits=waits),
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
    return show(request, caller, template, "instances", instance=instance, tabs=TABS, **records)
