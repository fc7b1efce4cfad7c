"""The page on which an instance gets another name, description, metadata and tags."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.instances.forms import words_of
from controlplane.dashboard.metadata_lines import metadata_of_lines
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from servers.instances.domain.instance_details import InstanceDetails
from servers.instances.selectors.instances import instance_details, instance_get
from servers.instances.services.update import instance_update


class EditForm(forms.Form):
    """What a person fills in. `etag` says which values were read, so that nobody's change is overwritten unseen."""

    name = forms.CharField(label=_("Name"), strip=False, help_text=_("Up to 255 characters."))
    hostname = forms.CharField(
        label=_("Host name"),
        required=False,
        help_text=_(
            "What the guest is told to call itself: by metadata service and DHCP when it asks again, by its "
            "config drive once it is rebuilt."
        ),
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Up to 255 characters."),
    )
    metadata = forms.CharField(
        label=_("Metadata"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "class": "mono", "spellcheck": "false"}),
        help_text=_("One key = value on each line."),
    )
    tags = forms.CharField(label=_("Tags"), required=False, help_text=_("Words separated by commas."))
    etag = forms.CharField(widget=forms.HiddenInput)

    def clean_metadata(self) -> dict[str, str]:
        """The lines as pairs; the service has the rules for both halves."""
        return metadata_of_lines(self.cleaned_data["metadata"])

    def changes(self, before: InstanceDetails) -> Mapping[str, Any]:
        """What differs from before. A metadata item whose line was left alone keeps what a line cannot show."""
        data = self.cleaned_data
        shown = _shown_keys(before)
        by_line = {line: (key, before.metadata[key]) for line, key in shown.items()}
        metadata = {key: value for key, value in before.metadata.items() if key not in shown.values()}
        for key, value in data["metadata"].items():
            old = by_line.get(key)
            name, text = old if old and _on_one_line(old[1]) == value else (key, value)
            metadata[name] = text
        wanted = {
            "name": data["name"],
            "hostname": data["hostname"],
            "description": data["description"].replace("\r\n", "\n"),
            "metadata": metadata,
            "tags": words_of(data["tags"]),
        }
        after = before.changed(wanted)
        return {name: value for name, value in wanted.items() if getattr(after, name) != getattr(before, name)}


def _initial(details: InstanceDetails) -> dict[str, str]:
    lines = [f"{line} = {_on_one_line(details.metadata[key])}" for line, key in _shown_keys(details).items()]
    return {
        "name": details.name,
        "hostname": details.hostname,
        "description": details.description,
        "metadata": "\n".join(lines),
        "tags": ", ".join(details.tags),
        "etag": details.etag,
    }


def _shown_keys(details: InstanceDetails) -> dict[str, str]:
    """The key of each line, in order. A line shows neither a key of spaces alone nor two that differ in spaces at their
    ends: what has no line stays as it is.
    """
    found: dict[str, str] = {}
    for key in sorted(details.metadata):
        if key.strip():
            found.setdefault(key.strip(), key)
    return found


def _on_one_line(value: str) -> str:
    return " ".join(value.split())


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:update")
def instance_edit(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """The form, and again with the service's refusals at their fields.

    Where somebody else was faster, it shows what was typed beside what is there now; sent again, it replaces that.
    """
    instance = instance_get(caller=caller, instance_id=instance_id)
    now = instance_details(instance)
    if request.method != "POST":
        return _shown(request, caller, instance, EditForm(initial=_initial(now)))
    form = EditForm(request.POST)
    if not form.is_valid():
        return _shown(request, caller, instance, form)
    changes = form.changes(now)
    try:
        instance_update(caller=caller, instance_id=instance_id, changes=changes, etag=form.cleaned_data["etag"])
    except NotFound:
        raise
    except KilonovaError as error:
        errors_add(form, error, {})
        if not (isinstance(error, Conflict) and error.field == "etag"):
            return _shown(request, caller, instance, form)
        there = _initial(instance_details(instance_get(caller=caller, instance_id=instance_id)))
        form.data = {**request.POST.dict(), "etag": there["etag"]}
        return _shown(request, caller, instance, form, there)
    changed = gettext("%(name)s was changed.") % {"name": changes.get("name", instance.name)}
    said = changed if changes else gettext("Nothing was changed.")
    messages.success(request, said, extra_tags="good")
    return redirect("instance", instance_id=instance_id)


def _shown(
    request: HttpRequest, caller: Caller, instance: Any, form: EditForm, there: Mapping[str, str] | None = None
) -> HttpResponse:
    """The page, with the focus on the first field that is wrong. `there`: what somebody else made of it."""
    wrong = next((name for name in form.fields if name in form.errors and name != "etag"), "name")
    form.fields[wrong].widget.attrs["autofocus"] = True
    context = {"instance": instance, "form": form, "there": there}
    return show(request, caller, "dashboard/instance_edit.html", "instances", **context)
