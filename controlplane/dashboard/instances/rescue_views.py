"""The pages on which an instance is rebuilt or rescued: which image, and what becomes of its disks."""

import base64
import uuid
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.instances.act_views import Question, asked
from controlplane.dashboard.metadata_lines import metadata_of_lines
from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from servers.catalog.selectors.keypair import keypairs_of
from servers.images.selectors import images_visible
from servers.images.services.certificates import certificates_visible
from servers.instances.actions.refusal import action_refusal
from servers.instances.actions.rescue import REBUILD, RESCUE
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.selectors.instances import instance_get
from servers.instances.services.rescue import instance_rebuild, instance_rescue

OWN, CHOOSE = ("", _("the one that it has")), ("", _("choose one"))
AS_IT_IS, NONE = ("", _("as it is")), ("-", _("none"))


RARELY_USED = (
    "name",
    "description",
    "hostname",
    "key_name",
    "metadata",
    "user_data",
    "disk_config",
    "trusted_image_certificates",
)
"""Of a rebuild, what the page shows only to who asks for it."""


class _ImageForm(forms.Form):
    """Which image, and the password for a guest that has a config drive to read it from."""

    image = forms.ChoiceField(label=_("Image"), required=False)
    admin_pass = forms.CharField(
        label=_("Password of the administrator"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("The guest finds it on its config drive at its first boot. Forgotten when it runs."),
    )

    def __init__(self, data: Any, caller: Caller, instance: Any) -> None:
        super().__init__(data)
        field = self.fields["image"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        images = images_visible(caller=caller)
        # One that boots from a volume has no image of its own.
        first, field.required = (CHOOSE, True) if instance.is_bfv else (OWN, False)
        field.choices = [first, *((str(one.pk), one.name) for one in images if one.status == "active")]
        if not instance.config_drive:
            del self.fields["admin_pass"]


class RescueForm(_ImageForm):
    """Which image it boots from."""

    def __init__(self, data: Any, caller: Caller, instance: Any) -> None:
        super().__init__(data, caller, instance)
        self.fields["image"].help_text = _("The rescue disk is as large as its image.")


class RebuildForm(_ImageForm):
    """What a person fills in; what is left alone stays as it is."""

    reimage_boot_volume = forms.BooleanField(
        label=_("Overwrite the volume that it boots from"),
        help_text=_("All that is on this volume is lost for good. Its other volumes stay as they are."),
    )
    name = forms.CharField(label=_("Name"), required=False, strip=False, help_text=_("Left empty, its name stays."))
    description = forms.CharField(
        label=_("Description"), required=False, help_text=_("Left empty, its description stays.")
    )
    hostname = forms.CharField(label=_("Host name"), required=False, help_text=_("Left empty, its host name stays."))
    key_name = forms.ChoiceField(label=_("Key pair"), required=False)
    metadata = forms.CharField(
        label=_("Metadata"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"}),
        help_text=_("One key = value on each line, in place of all that it has. Left empty, what it has stays."),
    )
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
    trusted_image_certificates = forms.MultipleChoiceField(
        label=_("Trusted certificates"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The image must be signed by one of these. None chosen, those that it has count."),
    )

    def __init__(self, data: Any, caller: Caller, instance: Any) -> None:
        super().__init__(data, caller, instance)
        self.fields["image"].help_text = _("Its disks are made from this image, on the host where it is.")
        self.order_fields(["image", "reimage_boot_volume", "admin_pass", *RARELY_USED])
        if not instance.is_bfv:
            del self.fields["reimage_boot_volume"]
        keys, certificates = self.fields["key_name"], self.fields["trusted_image_certificates"]
        assert isinstance(keys, forms.ChoiceField)  # noqa: S101  (for the type checker)
        assert isinstance(certificates, forms.ChoiceField)  # noqa: S101  (for the type checker)
        keypairs = keypairs_of(user_id=caller.user_id)
        keys.choices = [AS_IT_IS, NONE, *((one.name, one.name) for one in keypairs if one.name != NONE[0])]
        trusted = certificates_visible(project_id=instance.project_id).order_by("name", "pk")
        certificates.choices = [(str(one.pk), one.name) for one in trusted]
        # An image that a volume is made of is verified by nobody.
        if instance.is_bfv or not certificates.choices:
            del self.fields["trusted_image_certificates"]

    def clean_metadata(self) -> dict[str, str]:
        """Its lines as pairs."""
        return metadata_of_lines(self.cleaned_data["metadata"])

    def wanted(self) -> InstanceRebuild:
        """As the service takes it."""
        data = self.cleaned_data
        # Browsers send CRLF; a script that begins with "#!/bin/sh\r" would not run.
        user_data = base64.b64encode(data["user_data"].replace("\r\n", "\n").encode()).decode()
        key_name = "" if data["key_name"] == NONE[0] else data["key_name"] or None
        return InstanceRebuild(
            image=data["image"],
            name=data["name"] or None,
            description=data["description"] or None,
            metadata=data["metadata"] or None,
            hostname=data["hostname"] or None,
            key_name=key_name,
            user_data=user_data or None,
            disk_config=data["disk_config"],
            admin_pass=data.get("admin_pass", ""),
            trusted_image_certificates=data.get("trusted_image_certificates") or None,
            reimage_boot_volume=data.get("reimage_boot_volume", False),
        )


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:rebuild")
def instance_rebuild_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Rebuild it; the page says what is lost."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    form = RebuildForm(request.POST if request.method == "POST" else None, caller, instance)
    refusal = action_refusal(REBUILD.name, instance, caller)
    question = Question(REBUILD, (REBUILD.help,), form, loss=REBUILD.loss, refusal=refusal, rarely_used=RARELY_USED)

    def act() -> None:
        instance_rebuild(caller=caller, instance_id=instance_id, wanted=form.wanted())

    return asked(request, caller, instance, question, act)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:act")
def instance_rescue_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Rescue it with its own image or another one."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    form = RescueForm(request.POST if request.method == "POST" else None, caller, instance)
    refusal = action_refusal(RESCUE.name, instance, caller)
    question = Question(RESCUE, (RESCUE.help, gettext_noop("What runs in it now is shut down.")), form, refusal=refusal)

    def act() -> None:
        data = form.cleaned_data
        instance_rescue(
            caller=caller, instance_id=instance_id, image=data["image"], admin_pass=data.get("admin_pass", "")
        )

    return asked(request, caller, instance, question, act)
