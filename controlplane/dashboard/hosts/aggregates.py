"""The list of aggregates, for admins."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from scheduling.filtersets import AggregateFilterSet
from scheduling.fleet.selectors.aggregates import aggregates_listed

AGGREGATES = ListDeclaration(
    name="aggregates",
    thing="aggregate",
    section="aggregates",
    cells="dashboard/hosts/aggregate_cells.html",
    columns=(
        Column(
            "name", gettext_noop("Aggregate"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name"
        ),
        Column("zone", gettext_noop("Zone"), lambda row: row.availability_zone, ("zone",)),
        Column("hosts", gettext_noop("Hosts"), lambda row: row.host_count, ("host_count",), is_number=True),
        Column("metadata", gettext_noop("Metadata"), lambda row: row.metadata, css="wrap", hides_small=True),
        Column(
            "created",
            gettext_noop("Created"),
            lambda row: row.created_at,
            ("created_at",),
            css="nowrap",
            hides_small=True,
        ),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda _caller, _asked: aggregates_listed(),
    filterset=lambda _caller: AggregateFilterSet,
    filters=(
        ListFilter("availability_zone", gettext_noop("Zone"), is_first=True, placeholder=gettext_noop("Exact name")),
        ListFilter("host", gettext_noop("Host"), is_first=True, placeholder=gettext_noop("Exact name")),
        ListFilter("name", gettext_noop("Name"), placeholder=gettext_noop("Exact name")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, zone, metadata, host …"),
    head="dashboard/hosts/aggregate_list_head.html",
    empty="dashboard/hosts/aggregate_list_empty.html",
)


@require_safe
@page("aggregates:read")
def aggregate_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Named sets of hosts, with the zones that they make."""
    return list_response(request, caller, AGGREGATES)
