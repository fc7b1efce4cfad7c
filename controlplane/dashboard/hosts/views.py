"""Pages of hosts, for admins: who is up, what is promised of each, and switching one off."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.hosts.outcome_rows import host_outcome_rows
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid
from scheduling.decisions.selectors.host_record import host_record
from scheduling.fleet.selectors.hosts import host_get, host_nodes_listed, host_overviews
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from servers.agent_api.credentials import agent_refusals, credential_of_host
from servers.instances.selectors.instances import instances_on

PAGE_SIZE = 50
NOTICES = {
    "enable": "enabled. It gets new instances again.",
    "disable": "disabled. What runs there keeps running.",
    "force_down": "forced down. It counts as dead, whatever its agent says, until you take that back.",
    "force_down_end": "no longer forced down. It is up as soon as its agent is.",
}


@require_safe
@page("hosts:read")
def host_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Every hypervisor with state and usage; a page costs a constant number of queries."""
    nodes = host_nodes_listed()
    if wanted := filter_text(request, "name"):
        nodes = nodes.filter(host__icontains=wanted)
    here = Paginator(nodes, PAGE_SIZE).get_page(request.GET.get("page"))
    hosts = host_overviews(here.object_list)
    refusals = agent_refusals([each.host for each in hosts])
    context = {"page": here, "hosts": hosts, "refusals": refusals, "name": wanted}
    template = "dashboard/host_rows.html" if is_htmx(request) else "dashboard/host_list.html"
    return show(request, caller, template, "hosts", **context)


@require_safe
@page("hosts:read")
def host_detail(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """One hypervisor: facts, usage, instances, and why decisions chose it or did not."""
    shown = host_get(host=host)
    record = host_record(host=shown.host)
    context = {
        "host": shown,
        "instances": instances_on(host=host),
        "record": record,
        "outcomes": host_outcome_rows(record),
        "credential": credential_of_host(shown.host),
        "refusals": agent_refusals([shown.host]),
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
        raise Invalid("The action is none of enable, disable, force_down and force_down_end.", field="action")
    messages.success(request, f"{host} is {NOTICES[action]}", extra_tags="good")
    return redirect("host", host=host)
