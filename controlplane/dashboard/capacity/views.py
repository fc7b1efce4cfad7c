"""The capacity matrix, for admins: how many more of each flavor fit into each zone, and what they run out of."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from controlplane.dashboard.capacity.table import SORTS, capacity_table
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Invalid, KilonovaError
from scheduling.fleet.selectors.hosts import host_nodes
from scheduling.fleet.selectors.zones import zones_named
from scheduling.policies.selectors.policies import policy_list
from scheduling.whatif.services.capacity import MAX_FLAVORS
from servers.catalog.selectors.flavor import flavors_visible
from servers.trials.schedule_trial import capacity_matrix

# Measured on one core: reading 10,000 hosts takes 1.1 s, counting one flavor on them about 0.03 s.
SECONDS_PER_HOST = 0.00012
SECONDS_PER_HOST_AND_FLAVOR = 0.000004
# From here on the page comes first and the numbers after it.
LATER_FROM_S = 0.5


@dataclass(frozen=True, slots=True)
class CapacityQuery:
    """What the page is asked to show: filters, policy, and order."""

    name: str
    zone: str
    policy: str
    survive_loss: bool
    sort: str

    @property
    def is_filtered(self) -> bool:
        """Whether something may be left out."""
        return bool(self.name or self.zone or self.policy)


@require_safe
@page("capacity:read")
def capacity(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The matrix. On a large fleet the page asks for it in a second step, and says how long that takes."""
    query = _query(request)
    flavors = flavors_visible(caller=caller).filter(disabled=False)
    matching = flavors.filter(name__icontains=query.name).count()
    hosts = host_nodes().count()
    seconds = expected_seconds(hosts, matching)
    is_later = seconds > LATER_FROM_S and not is_htmx(request) and request.GET.get("now") != "1"
    context: dict[str, Any] = {
        "query": query,
        "hosts": hosts,
        "matching": matching,
        "has_flavors": bool(matching) or flavors.exists(),
        "seconds": seconds,
        "is_later": is_later,
        "policies": list(policy_list()),
        "zones": zones_named(),
    }
    if hosts and matching and not is_later:
        context |= _counted(caller, query, matching)
    template = "dashboard/capacity_table.html" if is_htmx(request) else "dashboard/capacity.html"
    return show(request, caller, template, "capacity", **context)


def expected_seconds(hosts: int, flavors: int) -> float:
    """About how long the counting takes."""
    return hosts * (SECONDS_PER_HOST + flavors * SECONDS_PER_HOST_AND_FLAVOR)


def _query(request: HttpRequest) -> CapacityQuery:
    sort = filter_text(request, "sort")
    return CapacityQuery(
        name=filter_text(request, "name"),
        zone=filter_text(request, "zone"),
        policy=filter_text(request, "policy"),
        survive_loss=request.GET.get("n1") == "1",
        sort=sort if sort.removeprefix("-") in SORTS else "size",
    )


def _counted(caller: Caller, query: CapacityQuery, matching: int) -> dict[str, Any]:
    """The table, or why there is none."""
    if matching > MAX_FLAVORS:
        text = _("%(number)s flavors are more than the %(most)s that are counted at once: name some.")
        return {"refused": text % {"number": matching, "most": MAX_FLAVORS}}
    try:
        report = capacity_matrix(
            caller=caller, zone=query.zone or None, policy=query.policy or None, name_part=query.name
        )
    except Invalid as error:
        return {"refused": refusal_text(error)}
    except KilonovaError as error:
        return {"refused": _("The policy cannot be followed: %(reason)s.") % {"reason": refusal_text(error)}}
    return {"table": capacity_table(report, survive_loss=query.survive_loss, sort=query.sort)}
