"""Pages of volume types: what users choose between, which administrators make."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from computeagent.protocol.volumes import PoolKind
from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.volumes.type_listing import VOLUME_TYPES
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import KilonovaError
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.domain.volumes import QOS_LIMITS
from servers.volumes.selectors.volume_types import volume_type_get
from servers.volumes.services.types import volume_type_create, volume_type_delete, volume_type_update

SECTION = "volume-types"
_QOS_LABELS = {
    "total_iops": _("Requests a second"),
    "read_iops": _("Reads a second"),
    "write_iops": _("Writes a second"),
    "total_bytes": _("Bytes a second"),
    "read_bytes": _("Bytes read a second"),
    "write_bytes": _("Bytes written a second"),
}


class VolumeTypePageForm(forms.Form):
    """A type as a person fills it in. Limits that are left empty are none."""

    SIMPLE = ("name", "description", "is_public", "is_default", "is_encrypted", "is_multiattach")

    name = forms.CharField(label=_("Name"), strip=False, help_text=_("Up to 255 characters."))
    description = forms.CharField(label=_("Description"), required=False)
    is_default = forms.BooleanField(label=_("Volumes that ask for no type have it"), required=False)
    is_public = forms.BooleanField(label=_("Every project may use it"), required=False, initial=True)
    is_encrypted = forms.BooleanField(label=_("Volumes are encrypted, each with a key of its own"), required=False)
    is_multiattach = forms.BooleanField(label=_("Several instances may have one volume"), required=False)
    kinds = forms.MultipleChoiceField(
        label=_("Kinds of pools"),
        required=False,
        choices=[(kind.value, kind.value) for kind in PoolKind],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None marked: any."),
    )
    pools = forms.CharField(
        label=_("Pools"), required=False, help_text=_("Names of pools with commas between. Empty: any.")
    )
    min_gib = forms.IntegerField(
        label=_("Smallest size (GiB)"), required=False, min_value=0, widget=forms.NumberInput(attrs={"class": "short"})
    )
    max_gib = forms.IntegerField(
        label=_("Largest size (GiB)"), required=False, min_value=0, widget=forms.NumberInput(attrs={"class": "short"})
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for name in QOS_LIMITS:
            label = str(_QOS_LABELS[name])
            more_of = gettext("%(limit)s, more for each GiB") % {"limit": label}
            for prefix, said in (("qos", label), ("qos_per_gib", more_of)):
                self.fields[f"{prefix}_{name}"] = forms.IntegerField(
                    label=said, required=False, min_value=0,
                    widget=forms.NumberInput(attrs={"class": "short"}),
                )  # fmt: skip

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """What a type mostly says."""
        return [field for field in self if not self._is_finer(field.name)]

    @property
    def finer_fields(self) -> list[forms.BoundField]:
        """Limits apart for reading and writing, and those that grow with a volume."""
        return [field for field in self if self._is_finer(field.name)]

    @property
    def shows_finer(self) -> bool:
        """Whether one of them says something or is wrong, so that they must not be folded away."""
        return any(field.errors or field.value() for field in self.finer_fields)

    @staticmethod
    def _is_finer(name: str) -> bool:
        return name.startswith("qos_") and name not in ("qos_total_iops", "qos_total_bytes")

    @staticmethod
    def initial_of(row: Any) -> dict[str, Any]:
        """The values of now."""
        found = {name: getattr(row, name) for name in (*VolumeTypePageForm.SIMPLE, "kinds")}
        found |= {"pools": ", ".join(row.pools), "min_gib": row.min_gib or None, "max_gib": row.max_gib or None}
        for prefix in ("qos", "qos_per_gib"):
            found |= {f"{prefix}_{name}": value for name, value in getattr(row, prefix).items()}
        return found

    @property
    def values(self) -> dict[str, Any]:
        """The type as the service takes it."""
        said = self.cleaned_data
        found = {name: said[name] for name in self.SIMPLE}
        found |= {
            "kinds": tuple(said["kinds"]),
            "pools": tuple(name.strip() for name in said["pools"].split(",") if name.strip()),
            "min_gib": said["min_gib"] or 0,
            "max_gib": said["max_gib"] or 0,
        }
        for prefix in ("qos", "qos_per_gib"):
            limits = {name: said[f"{prefix}_{name}"] for name in QOS_LIMITS}
            found[prefix] = {name: value for name, value in limits.items() if value}
        return found


@require_safe
@page("volume_types:read")
def volume_type_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those that the caller may use; all for an admin."""
    return list_response(request, caller, VOLUME_TYPES)


@require_http_methods(["GET", "HEAD", "POST"])
@page("volume_types:write")
def volume_type_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Offer a type."""
    form = VolumeTypePageForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made = volume_type_create(request=VolumeTypeRequest(**form.values))
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(request, gettext("%(name)s can be chosen now.") % {"name": made.name}, extra_tags="good")
            return redirect("volume-types")
    return show(request, caller, "dashboard/volumes/type_form.html", SECTION, form=form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("volume_types:write")
def volume_type_edit(request: HttpRequest, caller: Caller, type_id: uuid.UUID) -> HttpResponse:
    """Change it for volumes to come."""
    row = volume_type_get(caller=caller, type_id=type_id)
    form = VolumeTypePageForm(
        request.POST if request.method == "POST" else None, initial=VolumeTypePageForm.initial_of(row)
    )
    if request.method == "POST" and form.is_valid():
        before = {name: _typed(getattr(row, name)) for name in form.values}
        changes = {name: value for name, value in form.values.items() if value != before[name]}
        try:
            volume_type_update(type_id=row.pk, changes=changes)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            said = gettext("%(name)s was changed.") % {"name": form.cleaned_data["name"]}
            messages.success(request, said, extra_tags="good")
            return redirect("volume-types")
    return show(request, caller, "dashboard/volumes/type_form.html", SECTION, form=form, volume_type=row)


def _typed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@require_POST
@page("volume_types:write")
def volume_type_delete_view(request: HttpRequest, caller: Caller, type_id: uuid.UUID) -> HttpResponse:
    """Remove one that no volume is of."""
    row = volume_type_get(caller=caller, type_id=type_id)
    volume_type_delete(type_id=row.pk)
    messages.success(request, gettext("%(name)s was deleted.") % {"name": row.name}, extra_tags="good")
    return redirect("volume-types")
