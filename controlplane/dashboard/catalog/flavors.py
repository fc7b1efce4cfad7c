"""Pages of flavors: everybody reads, admins make, change and delete them."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.audit_log.selectors import audit_entries_of
from controlplane.dashboard.capacity.table import FlavorRow, capacity_table
from controlplane.dashboard.catalog.extra_specs import (
    hint_number,
    keys_offered,
    pair_problems,
    posted_pairs,
    rules_by_namespace,
    spec_row,
    spec_rows,
)
from controlplane.dashboard.catalog.flavor_listing import FLAVORS
from controlplane.dashboard.form_errors import errors_add, reasons_by_field
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import LONGEST_FILTER, filter_text, page, show
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.identity.selectors import project_id_called, project_list
from controlplane.identity.selectors.people import OFFERED
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, InvalidFields, KilonovaError, NotFound
from servers.catalog.selectors.flavor import flavor_get, flavor_projects, flavors_visible
from servers.catalog.services.flavor import (
    CHANGEABLE,
    flavor_access_add,
    flavor_access_remove,
    flavor_create,
    flavor_delete,
    flavor_update,
)
from servers.fields import INTEGER_MAX
from servers.instances.selectors.flavor_use import instances_by_flavor
from servers.trials.schedule_trial import capacity_imagined, capacity_matrix

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PAGE_SIZE = 50
PROPOSABLE = ("name", "vcpus", "memory_mib", "root_gib", "ephemeral_gib", "swap_mib")


def _size(label: "StrOrPromise", minimum: int, help_text: "StrOrPromise", initial: int = 0) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=minimum,
        max_value=INTEGER_MAX,
        initial=initial,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"class": "short"}),
    )


class FlavorPageForm(forms.Form):
    """What an admin fills in beside the extra specs, which have an editor of their own."""

    name = forms.CharField(label=_("Name"), strip=False, help_text=_("Up to 255 characters."))
    description = forms.CharField(
        label=_("Description"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    vcpus = _size(_("vCPUs"), 1, _("Virtual CPUs of a guest."), 1)
    memory_mib = _size(_("Memory (MiB)"), 1, _("1 GiB is 1024 MiB."), 2048)
    root_gib = _size(
        _("Root disk (GiB)"), 0, _("0 takes the size of the image; only admins may create with such a flavor.")
    )
    ephemeral_gib = _size(_("Ephemeral disk (GiB)"), 0, _("A second, empty disk; 0 for none."))
    swap_mib = _size(_("Swap (MiB)"), 0, _("A swap disk; 0 for none."))
    is_public = forms.BooleanField(
        label=_("Public"),
        required=False,
        initial=True,
        help_text=_("Off: only admins see it, and projects it is given to."),
    )
    disabled = forms.BooleanField(label=_("Disabled"), required=False, help_text=_("On: it takes no new instances."))

    @property
    def sizes(self) -> list[forms.BoundField]:
        """The numbers."""
        return [field for field in self if isinstance(field.field, forms.IntegerField)]

    @property
    def switches(self) -> list[forms.BoundField]:
        """What is on or off."""
        return [field for field in self if isinstance(field.field, forms.BooleanField)]


@require_safe
@page("flavors:read")
def flavor_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Sizes on offer; admins also see the private and disabled ones, and how many instances each has."""
    return list_response(request, caller, FLAVORS)


@require_safe
@page("flavors:read")
def flavor_detail(request: HttpRequest, caller: Caller, flavor_id: uuid.UUID) -> HttpResponse:
    """One size with what each of its extra specs means."""
    flavor = flavor_get(caller=caller, flavor_id=flavor_id)
    context = {
        "flavor": flavor,
        "specs": [spec_row(key, value) for key, value in sorted(flavor.extra_specs.items())],
        "used": instances_by_flavor([flavor.pk]).get(flavor.pk, 0) if caller.is_admin else None,
    }
    if allows(caller, "flavors:write"):
        context |= {"given": flavor_projects(flavor_id=flavor.pk), "projects_offered": project_list()[:OFFERED]}
        context["audit_entries"] = audit_entries_of(kind="flavor", ids=[str(flavor.pk)])
    if caller.is_admin and request.GET.get("room") == "1" and not flavor.disabled:
        context["room"] = _room(capacity_matrix(caller=caller, flavors=[str(flavor.pk)]))
    return show(request, caller, "dashboard/catalog/flavor_detail.html", "flavors", **context)


@require_safe
@page("capacity:read")
def flavor_room(request: HttpRequest, caller: Caller, flavor_id: uuid.UUID) -> HttpResponse:
    """How many more fit now, by zone: the part of the flavor's page that comes after it."""
    flavor = flavor_get(caller=caller, flavor_id=flavor_id)
    room = None if flavor.disabled else _room(capacity_matrix(caller=caller, flavors=[str(flavor.pk)]))
    return show(request, caller, "dashboard/catalog/flavor_room.html", "flavors", flavor=flavor, room=room)


@require_POST
@page("flavors:write")
def flavor_access_view(request: HttpRequest, caller: Caller, flavor_id: uuid.UUID) -> HttpResponse:
    """Give it to a project, or take it back."""
    act, named = request.POST.get("act", ""), request.POST.get("project", "").strip()
    try:
        project_id = project_id_called(named)
        if act == "remove":
            flavor_access_remove(flavor_id=flavor_id, project_id=project_id)
        else:
            flavor_access_add(flavor_id=flavor_id, project_id=project_id)
    except (NotFound, Conflict) as error:
        if error.field is None:
            raise
        messages.error(request, refusal_text(error), extra_tags="bad")
    else:
        text = gettext("The project sees it no longer.") if act == "remove" else gettext("The project may use it.")
        messages.success(request, text, extra_tags="good")
    return redirect("flavor", flavor_id=flavor_id)


def _room(report: Mapping[str, Any]) -> FlavorRow:
    """The one row of a report about one flavor."""
    return capacity_table(report, survive_loss=False, sort="name").rows[0]


@require_http_methods(["GET", "HEAD", "POST"])
@page("flavors:write")
def flavor_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The form of a new flavor; with `?like=` it begins as a copy of that one, with `?vcpus=` as the address says."""
    like = filter_text(request, "like")
    if request.method != "POST" and "vcpus" in request.GET:
        initial = {name: filter_text(request, name) for name in PROPOSABLE if name in request.GET}
        return _form_shown(request, caller, FlavorPageForm(initial=initial), posted_pairs(request.GET))
    if request.method != "POST":
        original = flavors_visible(caller=caller).filter(name=like).first() if like else None
        initial = _initial(original) | {"name": f"{original.name}-copy"[:LONGEST_FILTER]} if original else {}
        pairs = sorted(original.extra_specs.items()) if original else []
        return _form_shown(request, caller, FlavorPageForm(initial=initial), pairs)
    return _submitted(request, caller, None)


@require_http_methods(["GET", "HEAD", "POST"])
@page("flavors:write")
def flavor_edit(request: HttpRequest, caller: Caller, flavor_id: uuid.UUID) -> HttpResponse:
    """The same form for one that exists. What runs keeps its snapshot."""
    flavor = flavor_get(caller=caller, flavor_id=flavor_id)
    if request.method != "POST":
        pairs = sorted(flavor.extra_specs.items())
        return _form_shown(request, caller, FlavorPageForm(initial=_initial(flavor)), pairs, flavor)
    return _submitted(request, caller, flavor)


@require_POST
@page("flavors:write")
def flavor_delete_view(request: HttpRequest, caller: Caller, flavor_id: uuid.UUID) -> HttpResponse:
    """Take it off the offer."""
    flavor = flavor_get(caller=caller, flavor_id=flavor_id)
    flavor_delete(flavor_id=flavor_id)
    messages.success(
        request,
        gettext("%(name)s was deleted. Instances made of it keep their size.") % {"name": flavor.name},
        extra_tags="good",
    )
    return redirect("flavors")


@require_safe
@page("flavors:write")
def spec_hint(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What is known of one key, for the row of the editor that asks."""
    key, value = (request.GET.get(name, "").strip()[:LONGEST_FILTER] for name in ("spec_key", "spec_value"))
    return show(
        request,
        caller,
        "dashboard/catalog/spec_hint.html",
        "flavors",
        row=spec_row(key, value),
        number=hint_number(request),
    )


def _initial(flavor: Any) -> dict[str, Any]:
    return {name: getattr(flavor, name) for name in CHANGEABLE - {"extra_specs"}}


def _submitted(request: HttpRequest, caller: Caller, flavor: Any) -> HttpResponse:
    """Save, or show the form again with each refusal at its field and its row; "another row" saves nothing."""
    form, pairs = FlavorPageForm(request.POST), posted_pairs(request.POST)
    if "more" in request.POST:
        return _form_shown(request, caller, FlavorPageForm(initial=request.POST.dict()), pairs, flavor, is_longer=True)
    problems = pair_problems(pairs)
    is_trial = "room" in request.POST
    if not form.is_valid() or problems:
        return _form_shown(request, caller, form, pairs, flavor, problems=problems)
    fields = form.cleaned_data | {"extra_specs": dict(pairs)}
    try:
        if is_trial:
            room = _room(capacity_imagined(caller=caller, sizes=fields))
            return _form_shown(request, caller, form, pairs, flavor, room=room)
        saved = flavor_create(**fields) if flavor is None else flavor_update(flavor_id=flavor.pk, changes=fields)
    except NotFound:
        raise
    except KilonovaError as error:
        found = reasons_by_field(error)
        at_rows = {field: reasons for field, reasons in found.items() if field.startswith("extra_specs")}
        others = {field: reasons for field, reasons in found.items() if field not in at_rows}
        if others:
            errors_add(form, InvalidFields(others), {})
        return _form_shown(request, caller, form, pairs, flavor, problems=at_rows)
    said = gettext("%(name)s was changed.") if flavor else gettext("%(name)s was created.")
    messages.success(request, said % {"name": saved.name}, extra_tags="good")
    return redirect("flavor", flavor_id=saved.pk)


def _form_shown(
    request: HttpRequest,
    caller: Caller,
    form: FlavorPageForm,
    pairs: list[tuple[str, str]],
    flavor: Any = None,
    *,
    problems: dict[str, list[str]] | None = None,
    is_longer: bool = False,
    room: FlavorRow | None = None,
) -> HttpResponse:
    wrong = problems or {}
    rows = spec_rows(pairs, wrong)
    at_rows = {f"extra_specs.{key}" for key, _ in pairs}
    elsewhere = [text for field, texts in wrong.items() if field not in at_rows for text in texts]
    context = {
        "form": form,
        "flavor": flavor,
        "room": room,
        "rows": rows + spec_rows([]) if is_longer else rows,
        "is_wrong": bool(form.errors or wrong),
        "spec_errors": elsewhere,
        "namespaces": rules_by_namespace(),
        "keys": keys_offered(),
        "is_longer": is_longer,
    }
    return show(request, caller, "dashboard/catalog/flavor_form.html", "flavors", **context)
