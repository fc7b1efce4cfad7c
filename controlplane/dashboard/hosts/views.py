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
from scheduling.fleet.services.service_states import service_disable, service_enable
from servers.agent_api.credentials import credential_of_host
from servers.instances.selectors.instances import instances_on

PAGE_SIZE = 50


@require_safe
@page("hosts:read")
def host_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Every hypervisor with state and usage; a page costs a constant number of queries."""
    nodes = host_nodes_listed()
    if wanted := filter_text(request, "name"):
        nodes = nodes.filter(host__icontains=wanted)
    here = Paginator(nodes, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": here, "hosts": host_overviews(here.object_list), "name": wanted}
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
    }
    template = "dashboard/host_live.html" if is_htmx(request) else "dashboard/host_detail.html"
    return show(request, caller, template, "hosts", **context)


@require_POST
@page("hosts:write")
def host_act(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """Enable or disable for new instances; what runs there keeps running."""
    action = request.POST.get("action", "")
    if action == "enable":
        service_enable(host=host)
    elif action == "disable":
        service_disable(host=host, reason=request.POST.get("reason", "").strip()[:255])
    else:
        raise Invalid("The action is neither enable nor disable.", field="action")
    notice = "It gets new instances again." if action == "enable" else "What runs there keeps running."
    messages.success(request, f"{host} is {action}d. {notice}", extra_tags="good")
    return redirect("host", host=host)
