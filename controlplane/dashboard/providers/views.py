"""Pages of resource providers, for admins: what there is, what is used of it, and by whom."""

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.providers.listing import PROVIDERS
from controlplane.identity.domain import Caller
from controlplane.identity.selectors import project_list
from controlplane.kernel.ids import parse_uuid
from placement.selectors.provider_pages import Holding, consumers_of, holdings, provider_generation, provider_shown
from scheduling.fleet.cache.host_rows import aggregate_rows
from scheduling.fleet.selectors.hosts import host_nodes
from servers.repair.selectors.consumers import instances_of_consumers

CONSUMERS_PAGE_SIZE = 25
# htmx's own status: show this, and ask no more.
HTMX_STOP_POLLING = 286


@require_safe
@page("placement:read")
def provider_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Every provider with its usage, filtered as the API filters; a page costs a constant number of queries."""
    return list_response(request, caller, PROVIDERS)


@require_safe
@page("placement:read")
def provider_detail(request: HttpRequest, caller: Caller, provider_uuid: UUID) -> HttpResponse:
    """One provider. Its live part asks every few seconds and is answered with nothing while nothing changed."""
    if is_htmx(request):
        generation = provider_generation(provider_uuid)
        if generation is None:
            gone = show(request, caller, "dashboard/provider_gone.html", "providers")
            gone.status_code = HTMX_STOP_POLLING
            return gone
        if request.GET.get("seen") == str(generation):
            return HttpResponse(status=204)
    template = "dashboard/provider_live.html" if is_htmx(request) else "dashboard/provider_detail.html"
    return show(request, caller, template, "providers", **_detail(request, provider_uuid))


def _detail(request: HttpRequest, provider_uuid: UUID) -> dict[str, Any]:
    provider = provider_shown(provider_uuid)
    here = Paginator(consumers_of(provider_uuid), CONSUMERS_PAGE_SIZE).get_page(request.GET.get("page"))
    held = holdings(provider_uuid, list(here.object_list))
    names = {row.uuid: row.name for row in aggregate_rows()} if provider.aggregates else {}
    return {
        "provider": provider,
        "host": host_nodes().filter(id=provider.root_uuid).values_list("host", flat=True).first(),
        "aggregates": [(uuid, names.get(str(uuid), "")) for uuid in provider.aggregates],
        "page": here,
        "holdings": held,
        "instances": instances_of_consumers([one.consumer_uuid for one in held]),
        "project_names": _project_names(held),
    }


def _project_names(held: list[Holding]) -> dict[str, str]:
    """Clients of Placement may send any text as a project; only ours have names."""
    ids = {parse_uuid(one.project_id) for one in held} - {None}
    return {str(one.pk): one.name for one in project_list().filter(pk__in=ids)} if ids else {}
