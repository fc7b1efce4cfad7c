"""The page that says who can reach an instance, and why not."""

import uuid
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.networks.rule_form import OTHER, PRESETS
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.ids import parse_uuid
from servers.networks.selectors.reachability import OUTSIDE, port_reachability
from servers.networks.selectors.topology import JoinedPort, ports_for_floating

SECTION = "reachability"
ADDRESS = "address"
FORM_FIELDS = {"from": "address", "port": "number"}


class ReachabilityForm(forms.Form):
    """From whom to whom, and by what."""

    to = forms.ChoiceField(label=_("Which instance"))
    what = forms.ChoiceField(
        label=_("By what"),
        choices=[
            *((name, _(one.label)) for name, one in PRESETS.items() if one.protocol),
            (OTHER, _("Another port: fill it in")),
        ],
    )
    number = forms.IntegerField(
        label=_("Port"),
        required=False,
        help_text=_("Of TCP, for another port."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    source = forms.ChoiceField(label=pgettext_lazy("who is to reach it", "From"))
    address = forms.CharField(
        label=_("Address"), required=False, help_text=_("For “an address”: 192.0.2.7, or 10.0.0.0/8.")
    )

    def __init__(self, data: Any = None, *, ports: list[JoinedPort], **more: Any) -> None:
        super().__init__(data, **more)
        named = [(str(one.port.pk), f"{_name(one)}: {', '.join(one.addresses)}") for one in ports]
        to: Any = self.fields["to"]
        to.choices = named
        source: Any = self.fields["source"]
        source.choices = [(OUTSIDE, gettext("anywhere outside")), (ADDRESS, gettext("an address: fill it in")), *named]

    def question(self) -> dict[str, Any]:
        """As the selector takes it."""
        said = self.cleaned_data
        preset = PRESETS.get(said["what"])
        return {
            "port_id": uuid.UUID(said["to"]),
            "source": said["address"].strip() if said["source"] == ADDRESS else said["source"],
            "protocol": preset.protocol if preset else "tcp",
            "port": preset.port if preset else said["number"],
        }


@require_safe
@page("reachability:read")
def reachability_page(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The question, and once it is asked the answer with each link of the chain. It reads rows and sends nothing."""
    ports = ports_for_floating(caller, named=parse_uuid(request.GET.get("to", "")))
    is_asked = "what" in request.GET
    form = ReachabilityForm(request.GET if is_asked else None, ports=ports, initial=request.GET.dict())
    found = None
    if is_asked and form.is_valid():
        try:
            found = port_reachability(caller=caller, translate=gettext, **form.question())
        except KilonovaError as error:
            errors_add(form, error, FORM_FIELDS)
    context = {"form": form, "found": found, "ports": ports}
    return show(request, caller, "dashboard/networks/reachability.html", SECTION, **context)


def _name(one: JoinedPort) -> str:
    return one.instance_name or one.port.name or one.port.mac
