"""The page on which an instance gets a volume."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.units import gib_text
from servers.instances.actions.refusal import action_refusal
from servers.instances.actions.volumes import ATTACH_VOLUME, YES
from servers.instances.selectors.instances import instance_get
from servers.instances.services.act import instance_act
from servers.volumes.domain.states import VolumeState
from servers.volumes.selectors.volumes import volumes_visible

MAX_CHOICES = 500


class AttachForm(forms.Form):
    """Which volume, and how the guest sees it."""

    volume = forms.ChoiceField(label=_("Volume"))
    device = forms.CharField(
        label=_("Device"),
        required=False,
        help_text=_("What the guest is likely to call it, such as vdb. Empty: the next free name."),
    )
    tag = forms.CharField(label=_("Tag"), required=False, help_text=_("Told to the guest with the disk."))
    read_only = forms.BooleanField(label=_("The guest may only read it"), required=False)
    delete_on_termination = forms.BooleanField(label=_("It is deleted with the instance"), required=False)

    def __init__(self, data: Any = None, *, volumes: list[Any]) -> None:
        super().__init__(data)
        field: Any = self.fields["volume"]
        field.choices = [(str(one.pk), f"{one.name or one.pk}, {gib_text(one.size_gib)}") for one in volumes]

    @property
    def arguments(self) -> dict[str, str]:
        """What was filled in, as the action takes it."""
        said = self.cleaned_data
        texts = {name: said[name].strip() for name in ("volume", "device", "tag")}
        switches = {name: YES for name in ("read_only", "delete_on_termination") if said[name]}
        return {name: text for name, text in texts.items() if text} | switches


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:act")
def instance_volume_add(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Choose one of the project's volumes that are free."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    free = volumes_visible(caller).filter(project=instance.project_id, state=VolumeState.AVAILABLE)
    shared = (
        volumes_visible(caller)
        .filter(project=instance.project_id, state=VolumeState.IN_USE, is_multiattach=True)
        .exclude(attachments__instance_uuid=instance.pk)
    )
    volumes = [*free.order_by("name", "pk")[:MAX_CHOICES], *shared.order_by("name", "pk")[:MAX_CHOICES]]
    form = AttachForm(request.POST if request.method == "POST" else None, volumes=volumes)
    if request.method == "POST" and form.is_valid():
        try:
            instance_act(caller=caller, instance_id=instance.pk, action=ATTACH_VOLUME.name, arguments=form.arguments)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            said = gettext("%(name)s is getting the volume.") % {"name": instance.name}
            messages.success(request, said, extra_tags="good")
            return redirect("instance", instance_id=instance.pk)
    context = {
        "form": form,
        "instance": instance,
        "has_volumes": bool(volumes),
        "refusal": action_refusal(ATTACH_VOLUME.name, instance, caller),
    }
    return show(request, caller, "dashboard/volumes/instance_volume_add.html", "instances", **context)
