"""The pages on which an instance is rebuilt or rescued: which image, and what becomes of its disks."""

import base64
import uuid
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.instances.act_views import Question, asked
from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from servers.catalog.selectors.keypair import keypairs_of
from servers.images.selectors import images_visible
from servers.instances.actions.refusal import action_refusal
from servers.instances.actions.rescue import REBUILD, RESCUE
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.selectors.instances import instance_get
from servers.instances.services.rescue import instance_rebuild, instance_rescue

OWN = ("", _("the one that it has"))
AS_IT_IS, NONE = ("", _("as it is")), ("-", _("none"))


class RescueForm(forms.Form):
    """Which image it boots from."""

    image = forms.ChoiceField(
        label=_("Image"), required=False, help_text=_("The rescue disk is as large as its image.")
    )

    def __init__(self, data: Any, caller: Caller) -> None:
        super().__init__(data)
        field = self.fields["image"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        images = images_visible(caller=caller)
        field.choices = [OWN, *((str(one.pk), one.name) for one in images if one.status == "active")]


class RebuildForm(RescueForm):
    """What a person fills in; what is left alone stays as it is."""

    name = forms.CharField(label=_("Name"), required=False, strip=False, help_text=_("Left empty, its name stays."))
    hostname = forms.CharField(label=_("Host name"), required=False, help_text=_("Left empty, its host name stays."))
    key_name = forms.ChoiceField(label=_("Key pair"), required=False)
    user_data = forms.CharField(
        label=_("User data"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"}),
        help_text=_("A script or cloud-init's words. Left empty, what it has stays."),
    )

    disk_config = forms.ChoiceField(
        label=_("Root partition"),
        required=False,
        choices=[("", _("as its image says")), ("AUTO", _("grows to the disk")), ("MANUAL", _("stays as it is"))],
    )
    admin_pass = forms.CharField(
        label=_("Password of the administrator"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("The guest finds it on its config drive at its first boot. Forgotten when it runs."),
    )

    def __init__(self, data: Any, caller: Caller) -> None:
        super().__init__(data, caller)
        self.fields["image"].help_text = _("Its disks are made from this image, on the host where it is.")
        field = self.fields["key_name"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        keypairs = keypairs_of(user_id=caller.user_id)
        field.choices = [AS_IT_IS, NONE, *((one.name, one.name) for one in keypairs if one.name != NONE[0])]

    def wanted(self) -> InstanceRebuild:
        """As the service takes it."""
        data = self.cleaned_data
        # Browsers send CRLF; a script that begins with "#!/bin/sh\r" would not run.
        user_data = base64.b64encode(data["user_data"].replace("\r\n", "\n").encode()).decode()
        key_name = "" if data["key_name"] == NONE[0] else data["key_name"] or None
        return InstanceRebuild(
            image=data["image"],
            name=data["name"] or None,
            hostname=data["hostname"] or None,
            key_name=key_name,
            user_data=user_data or None,
            disk_config=data["disk_config"],
            admin_pass=data["admin_pass"],
        )


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:rebuild")
def instance_rebuild_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Rebuild it; the page says what is lost."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    form = RebuildForm(request.POST if request.method == "POST" else None, caller)
    refusal = action_refusal(REBUILD.name, instance, caller)
    question = Question(REBUILD, (REBUILD.help,), form, loss=REBUILD.loss, refusal=refusal)

    def act() -> None:
        instance_rebuild(caller=caller, instance_id=instance_id, wanted=form.wanted())

    return asked(request, caller, instance, question, act)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:act")
def instance_rescue_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Rescue it with its own image or another one."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    form = RescueForm(request.POST if request.method == "POST" else None, caller)
    refusal = action_refusal(RESCUE.name, instance, caller)
    question = Question(RESCUE, (RESCUE.help, gettext_noop("What runs in it now is shut down.")), form, refusal=refusal)

    def act() -> None:
        instance_rescue(caller=caller, instance_id=instance_id, image=form.cleaned_data["image"])

    return asked(request, caller, instance, question, act)
