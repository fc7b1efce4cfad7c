"""Pages of hosts, for admins: who is up, what is promised of each, and switching one off."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from controlplane.audit_log.selectors import audit_entries_of
from controlplane.dashboard.bulk_jobs.bar import bulk_list_response
from controlplane.dashboard.hosts.listing import HOSTS
from controlplane.dashboard.hosts.outcome_rows import host_outcome_rows
from controlplane.dashboard.hosts.topology import topology_card
from controlplane.dashboard.hosts.usage_charts import host_charts
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.toasts import Undo, toast
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import gettext_noop
from controlplane.work.work import compute_queue, open_work_by_kind
from scheduling.decisions.selectors.host_record import host_record
from scheduling.fleet.domain.usage_history import SPANS
from scheduling.fleet.selectors.aggregates import aggregates_of_host
from scheduling.fleet.selectors.build_failures import host_build_failures
from scheduling.fleet.selectors.host_switches import host_switches
from scheduling.fleet.selectors.host_usage import host_history, reality_of_host
from scheduling.fleet.selectors.hosts import host_get
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from servers.agent_api.credentials import agent_refusals, credential_of_host
from servers.bulk.domain import BulkKind
from servers.hosts.selectors.images import image_cache_requests, images_on_host
from servers.hosts.selectors.topology import host_topology
from servers.instances.selectors.instances import instances_on
from servers.networks.selectors.host_states import host_network_state
from servers.repair.selectors.drift import drift_rows
from servers.volumes.selectors.pools import pools_of_host

MAX_REQUESTS = 50
NOTICES = {
    "enable": gettext_noop("%(host)s is enabled. It gets new instances again."),
    "disable": gettext_noop("%(host)s is disabled. What runs there keeps running."),
    "force_down": gettext_noop(
        "%(host)s is forced down. It counts as dead, whatever its agent says, until you take that back."
    ),
    "force_down_end": gettext_noop("%(host)s is no longer forced down. It is up as soon as its agent is."),
}
OPPOSITES = {
    "enable": "disable",
    "disable": "enable",
    "force_down": "force_down_end",
    "force_down_end": "force_down",
}
"""What takes each back."""


@require_safe
@page("hosts:read")
def host_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Every hypervisor with state and usage; a page costs a constant number of queries."""
    return bulk_list_response(request, caller, HOSTS, BulkKind.HOST)


@require_safe
@page("hosts:read")
def host_detail(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """One hypervisor: facts, usage, instances, and why decisions chose it or did not."""
    shown = host_get(host=host)
    record = host_record(host=shown.host)
    history = host_history(host=shown.host, span=SPANS.get(request.GET.get("span", ""), SPANS["day"]))
    context = {
        "host": shown,
        "instances": instances_on(host=host),
        "record": record,
        "outcomes": host_outcome_rows(record),
        "credential": credential_of_host(shown.host),
        "refusals": agent_refusals([shown.host]),
        "reality": reality_of_host(shown),
        "history": history,
        "history_spans": list(SPANS),
        "host_charts": host_charts(history),
        "host_networks": host_network_state(shown.host),
        "pools": pools_of_host(host=shown.host),
        "host_images": images_on_host(host=shown.host),
        "image_requests": list(image_cache_requests(host=shown.host)[:MAX_REQUESTS]),
        "audit_entries": audit_entries_of(kind="host", name=shown.host, ids=[shown.host]),
        "host_aggregates": aggregates_of_host(host=shown.host),
        "topology": topology_card(host_topology(host=shown)),
        "switches": host_switches(host=shown.host),
        "build_failures": host_build_failures(host=shown.host),
        "open_work": sum(open_work_by_kind(queue=compute_queue(shown.host)).values()),
        "drift": drift_rows(host=shown.host).count(),
    }
    template = "dashboard/host_live.html" if is_htmx(request) else "dashboard/host_detail.html"
    return show(request, caller, template, "hosts", **context)


@require_POST
@page("hosts:write")
def host_act(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """Enable or disable for new instances, declare it dead, or take that back; what runs there keeps running."""
    action = request.POST.get("action", "")
    if action == "enable":
        service_enable(host=host)
    elif action == "disable":
        service_disable(host=host, reason=request.POST.get("reason", "").strip()[:255])
    elif action in {"force_down", "force_down_end"}:
        service_force_down(host=host, forced_down=action == "force_down")
    else:
        raise Invalid(
            gettext_noop("The action is none of enable, disable, force_down and force_down_end."), field="action"
        )
    opposite = Undo(reverse("host-act", kwargs={"host": host}), "action", OPPOSITES[action])
    toast(request, gettext(NOTICES[action]) % {"host": host}, undo=opposite)
    return redirect("host", host=host)
