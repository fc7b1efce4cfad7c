"""The page that simulates, for admins: a request on the fleet as it is, or as it might be."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.simulate.form import FIELD_NAMES, OWN, SimulateForm
from controlplane.dashboard.simulate.trial import trial_answer
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import KilonovaError
from scheduling.fleet.selectors.hosts import host_nodes_listed
from scheduling.fleet.selectors.zones import zone_list
from scheduling.policies.selectors.policies import policy_list
from servers.catalog.selectors.flavor import flavors_visible
from servers.catalog.selectors.server_group import server_groups_visible
from servers.images.selectors import images_listed
from servers.instances.services.nics import networks_usable

# Names offered while typing; all hosts can be written.
HOSTS_OFFERED = 500
NETWORKS_OFFERED = 100


@require_safe
@page("schedule:simulate:edits")
def simulate(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The form, and with `run` what it says. All is in the address, so that a trial can be sent to somebody else."""
    form = _form(request, caller)
    context: dict[str, Any] = {"form": form, "is_asked": request.GET.get("run") == "1"}
    if context["is_asked"] and form.is_valid():
        try:
            context["trial"] = trial_answer(caller=caller, wanted=form.wanted(), host=form.cleaned_data["host"])
        except KilonovaError as error:
            errors_add(form, error, FIELD_NAMES)
    wrong = next((name for name in form.fields if context["is_asked"] and name in form.errors), None)
    if wrong:
        form.fields[wrong].widget.attrs["autofocus"] = True
    template = "dashboard/simulate_form.html" if is_htmx(request) else "dashboard/simulate.html"
    response = show(request, caller, template, "capacity", **context)
    # Where something is wrong, its field is what should come into sight, not the answer.
    if form.errors:
        response["HX-Reswap"] = "outerHTML show:none"
    return response


def _form(request: HttpRequest, caller: Caller) -> SimulateForm:
    flavors = list(flavors_visible(caller=caller).filter(disabled=False))
    given = request.GET.copy()
    given.setdefault("count", "1")
    given.setdefault("flavor", str(flavors[0].pk) if flavors else OWN)
    return SimulateForm(
        given,
        flavors=flavors,
        images=list(images_listed(caller=caller).filter(status="active")),
        groups=list(server_groups_visible(caller=caller)),
        networks=list(networks_usable(caller).order_by("name", "pk")[:NETWORKS_OFFERED]),
        policies=list(policy_list()),
        zones=[zone.name for zone in zone_list()],
        hosts=list(host_nodes_listed().values_list("host", flat=True)[:HOSTS_OFFERED]),
    )
