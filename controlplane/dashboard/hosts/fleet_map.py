"""The page of the fleet map, for admins: every host as a box, by size and warmth, and the same as a table."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from controlplane.dashboard.hosts.map_boxes import (
    CHOICES,
    HEATS,
    SORTS,
    map_density,
    map_key,
    map_sections,
    measure_text,
    state_css,
    state_text,
)
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import InvalidFields, KilonovaError
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.domain.fleet_map import Grouping, Heat, MapHost
from scheduling.fleet.selectors.aggregates import aggregates_named
from scheduling.fleet.selectors.zones import zones_named
from servers.hosts.selectors.fleet_map import FleetMap, fleet_map, map_wanted
from servers.trials.host_room import flavor_names

TABLE_SIZE = 200
GROUPS = {
    Grouping.ZONE: gettext_noop("Zone"),
    Grouping.AGGREGATE: gettext_noop("Aggregate"),
    Grouping.NONE: gettext_noop("Nothing"),
}
STATES = {
    "": gettext_noop("Any"),
    "up": gettext_noop("Up"),
    "down": gettext_noop("Down"),
    "disabled": gettext_noop("Disabled"),
}
STATE_FILTERS = {"up": {"up": "true"}, "down": {"up": "false"}, "disabled": {"disabled": "true"}}


@dataclass(frozen=True, slots=True)
class MapQuery:
    """What the page is asked to show. `view` is map or table."""

    heat: str
    group: str
    flavor: str
    state: str
    q: str
    zone: str
    aggregate: str
    view: str
    sort: str

    @property
    def is_filtered(self) -> bool:
        """Whether hosts may be left out."""
        return bool(self.q or self.zone or self.aggregate or self.state)

    @property
    def filters(self) -> dict[str, str]:
        """As the list of hosts and the API have them."""
        named = {"q": self.q, "zone": self.zone, "aggregate": self.aggregate}
        return {name: text for name, text in named.items() if text} | STATE_FILTERS.get(self.state, {})


@dataclass(frozen=True, slots=True)
class MapRow:
    """One host of the table."""

    host: MapHost
    css: str
    measure: str
    state: str


@require_safe
@gzip_page
@page("hosts:read")
def fleet_map_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A constant number of queries, however many hosts there are. What is wrong with the question stands above it."""
    query = _query(request)
    context: dict[str, Any] = {
        "query": query,
        "heats": [(one.value, title) for one, title in CHOICES.items()],
        "groups": [(one.value, title) for one, title in GROUPS.items()],
        "states": list(STATES.items()),
        "flavors": flavor_names(caller),
        "zones": zones_named(),
        "aggregates": [name for _, name in aggregates_named()],
    }
    try:
        heat = Heat.FITS.value if query.flavor else query.heat
        found = fleet_map(caller=caller, wanted=map_wanted(heat, query.group, query.flavor, query.filters))
    except InvalidFields as error:
        context["refused"] = " ".join(text for texts in error.errors.values() for text in texts)
    except KilonovaError as error:
        context["refused"] = refusal_text(error)
    else:
        context |= _table(found, query, request) if query.view == "table" else _map(found)
    template = "dashboard/hosts/fleet_map_live.html" if is_htmx(request) else "dashboard/hosts/fleet_map.html"
    return show(request, caller, template, "fleet-map", **context)


def _query(request: HttpRequest) -> MapQuery:
    """What the page does not know is left out; the API refuses it."""
    texts = {name: filter_text(request, name) for name in MapQuery.__dataclass_fields__}
    known: dict[str, Collection[str]] = {
        "heat": {one.value for one in HEATS},
        "group": set(Grouping),
        "state": STATES,
        "view": {"table"},
    }
    for name, allowed in known.items():
        texts[name] = texts[name] if texts[name] in allowed else ""
    texts["sort"] = texts["sort"] if texts["sort"] in {"name", *SORTS} else "name"
    return MapQuery(**texts)


def _map(found: FleetMap) -> dict[str, Any]:
    word = "" if found.grouping is Grouping.NONE else GROUPS[found.grouping]
    return {
        "found": found,
        "sections": map_sections(found, word),
        "key": map_key(found),
        "density": map_density(len(found.hosts)),
        "measure": _measure(found),
    }


def _table(found: FleetMap, query: MapQuery, request: HttpRequest) -> dict[str, Any]:
    hosts = list(found.hosts)
    if query.sort in SORTS:
        hosts.sort(key=SORTS[query.sort], reverse=True)
    here = Paginator(hosts, TABLE_SIZE).get_page(request.GET.get("page"))
    rows = [MapRow(one, state_css(one, found.heat), measure_text(one, found), state_text(one)) for one in here]
    heat_sort = "fits" if found.heat is Heat.FITS else "heat"
    return {"found": found, "page": here, "rows": rows, "heat_sort": heat_sort, "measure": _measure(found)}


def _measure(found: FleetMap) -> str:
    if found.heat is Heat.FITS:
        return gettext("Room for %(flavor)s") % {"flavor": found.flavor}
    return gettext(HEATS[found.heat])
