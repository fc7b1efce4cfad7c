"""Ways out of "no host fits": what would help, as buttons that do it, and the request tried again."""

import uuid
from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.instances.act_views import Question, asked
from controlplane.dashboard.instances.advice_forms import advice_forms
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.toasts import toast
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, Throttled
from controlplane.kernel.units import size_text
from scheduling.fleet.selectors.zones import zone_list
from scheduling.fleet.services.service_states import service_enable
from servers.catalog.selectors.flavor import flavors_visible
from servers.instances.actions.lifecycle import SCHEDULE_AGAIN
from servers.instances.domain.request_changes import RequestChanges
from servers.instances.domain.schedule_again import schedule_again_refusal
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.request_specs import request_asked
from servers.instances.services.schedule_again import instance_schedule_again
from servers.trials.next_steps import NextSteps, instance_next_steps

AGAIN_TEXTS = (SCHEDULE_AGAIN.help,)
ANY_ZONE = "*"


class AgainForm(forms.Form):
    """What may be asked for otherwise. Everything may stay as it was."""

    flavor = forms.ChoiceField(
        label=_("Flavor"), required=False, help_text=_("Its project's quota is checked for what is larger.")
    )
    availability_zone = forms.ChoiceField(label=_("Availability zone"), required=False)
    without_hints = forms.MultipleChoiceField(
        label=_("Hints to drop"), required=False, widget=forms.CheckboxSelectMultiple
    )
    generation = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, data: Any, *, instance: Any, flavors: Iterable[Any], zones: Iterable[str], hints: Iterable[str]
    ) -> None:
        super().__init__(data, initial={"generation": getattr(instance, "generation", None)})
        before = instance.availability_zone
        sizes = [(str(one.pk), f"{one.name}: {_size(one)}") for one in flavors]
        zone_choices = [("", _as_before(before or gettext("any"))), (ANY_ZONE, gettext("any"))]
        self._offer("flavor", [("", _as_before(instance.flavor.get("name", ""))), *sizes])
        self._offer("availability_zone", [*zone_choices, *((one, one) for one in zones)])
        self._offer("without_hints", [(one, one) for one in hints])
        if not self.fields["without_hints"].choices:  # type: ignore[attr-defined]
            del self.fields["without_hints"]

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        field.choices = choices

    @property
    def changes(self) -> RequestChanges:
        """As the service takes them. Only of a valid form."""
        data = self.cleaned_data
        zone = data["availability_zone"]
        return RequestChanges(
            flavor=data["flavor"],
            availability_zone=("" if zone == ANY_ZONE else zone) if zone else None,
            without_hints=tuple(data.get("without_hints", ())),
            generation=data["generation"],
        )


def _as_before(value: str) -> str:
    return gettext("as before: %(value)s") % {"value": value}


def _size(flavor: Any) -> str:
    return size_text(vcpus=flavor.vcpus, memory_mib=flavor.memory_mib, root_gib=flavor.root_gib).sentence(gettext)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:act")
def instance_again_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Schedule again what found no host: as it was asked for, or with another flavor or zone, or fewer hints."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    before = request_asked(instance_id=instance_id)
    form = AgainForm(
        request.POST if request.method == "POST" else None,
        instance=instance,
        flavors=list(flavors_visible(caller=caller).filter(disabled=False)),
        zones=[zone.name for zone in zone_list()],
        hints=() if before is None else before.hints,
    )
    refusal = schedule_again_refusal(instance, caller, flavor=request.POST.get("flavor", ""))
    question = Question(SCHEDULE_AGAIN, AGAIN_TEXTS, form, refusal=refusal)

    def act() -> None:
        changes = form.changes
        instance_schedule_again(instance_id=instance_id, caller=caller, changes=changes)

    return asked(request, caller, instance, question, act)


@require_http_methods(["GET", "HEAD", "POST"])
@page("schedule:explain")
def instance_next_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """What would help, each as a button; a part of the instance's page, or by itself without JavaScript.

    A POST enables the host of one of the steps, for admins; the rest is done by the page that schedules again.
    """
    if request.method == "POST":
        return _enabled(request, caller, instance_id)
    instance = instance_get(caller=caller, instance_id=instance_id)
    context: dict[str, Any] = {"instance": instance}
    try:
        found = instance_next_steps(caller=caller, instance_id=instance_id)
        context |= {"next": found, "rows": [(one, _fields(one.changes, found)) for one in found.doable]}
        context["advice"] = [(one, advice_forms(request, one) if caller.is_admin else []) for one in found.advice]
    except (Conflict, Throttled) as error:
        context["next_refusal"] = refusal_text(error)
    template = "dashboard/instances/next_steps.html" if is_htmx(request) else "dashboard/instances/next_page.html"
    return show(request, caller, template, "instances", **context)


def _enabled(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    require(caller, "hosts:write")
    instance = instance_get(caller=caller, instance_id=instance_id)
    host = request.POST.get("enable", "").replace("\x00", "")[:255]
    service_enable(host=host)
    text = gettext("%(host)s is enabled. %(name)s can be scheduled again now.")
    toast(request, text % {"host": host, "name": instance.name})
    return redirect("instance", instance_id=instance_id)


def _fields(changes: RequestChanges | None, found: NextSteps) -> list[tuple[str, str]]:
    """The fields of the form that asks for these changes."""
    if changes is None:
        return []
    fields = [("generation", str(found.generation))]
    if changes.flavor:
        fields.append(("flavor", changes.flavor))
    if changes.availability_zone is not None:
        fields.append(("availability_zone", changes.availability_zone or ANY_ZONE))
    return [*fields, *(("without_hints", name) for name in changes.without_hints)]
