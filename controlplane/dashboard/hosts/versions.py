"""The page of versions, for admins: what runs on the hosts, and who is behind in an upgrade."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.pages import filter_text, page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from scheduling.filtersets import VERSION_FIELDS, HostFilterSet
from scheduling.fleet.selectors.hosts import host_nodes_listed, host_overviews
from scheduling.fleet.selectors.versions import ComponentVersions, VersionCount, fleet_versions

PAGE_SIZE = 50
MAX_SHOWN = 10
"""Versions of one component in the table; hosts with others are found by the API."""
LABELS = {
    "agent": gettext_noop("Agent"),
    "protocol": gettext_noop("Agents' protocol"),
    "service": gettext_noop("Service version"),
    "hypervisor": gettext_noop("Hypervisor"),
    "libvirt": "libvirt",
    "kernel": gettext_noop("Kernel"),
    "os": gettext_noop("Operating system"),
}
FILTERS = ("behind", "clock_off", "up", *VERSION_FIELDS)


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One version; `query` lists its hosts, empty where no filter does."""

    count: VersionCount
    query: str


@dataclass(frozen=True, slots=True)
class ComponentTable:
    """One component's versions, newest first; `more` are not shown."""

    label: str
    behind: int | None
    lines: tuple[VersionLine, ...]
    more: int


@require_safe
@page("hosts:read")
def host_versions(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Counts over all hosts, and below them the hosts that a filter leaves; a constant number of queries."""
    asked = {name: text for name in FILTERS if (text := filter_text(request, name))}
    nodes = HostFilterSet(asked, queryset=host_nodes_listed()).qs
    here = Paginator(nodes, PAGE_SIZE).get_page(request.GET.get("page"))
    fleet = fleet_versions()
    context = {
        "fleet": fleet,
        "components": [_table(one) for one in fleet.components],
        "asked": asked,
        "page": here,
        "hosts": host_overviews(here.object_list),
    }
    return show(request, caller, "dashboard/host_versions.html", "hosts", **context)


def _table(component: ComponentVersions) -> ComponentTable:
    lines = tuple(VersionLine(one, _query(component, one)) for one in component.versions[:MAX_SHOWN])
    return ComponentTable(
        LABELS[component.component], component.behind, lines, max(0, len(component.versions) - MAX_SHOWN)
    )


def _query(component: ComponentVersions, one: VersionCount) -> str:
    """An empty value would be no filter at all."""
    return urlencode({component.column: one.value}) if component.column in VERSION_FIELDS and one.value else ""
