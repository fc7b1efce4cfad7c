"""Forms of actions: what comes with one, asked for by what its row in the table says."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from servers.instances.actions.rule import ActionRule, Argument, ArgumentKind

LABELS = {
    "availability_zone": _("Availability zone"),
    "backup_type": _("Backup type"),
    "delete_on_termination": _("Delete on termination"),
    "device": _("Device"),
    "fixed_ip": _("Fixed ip"),
    "host": _("Host"),
    "name": _("Name"),
    "network": _("Network"),
    "password": _("Password"),
    "policy": _("Policy"),
    "port": _("Port"),
    "read_only": _("Read only"),
    "reason": _("Reason"),
    "rotation": _("Rotation"),
    "security_groups": _("Security groups"),
    "tag": _("Tag"),
    "volume": _("Volume"),
}
"""What the form calls an argument."""


class ActionForm(forms.Form):
    """A field for each argument of an action; `arguments` gives what was filled in as the service takes it. `choices`:
    what there is to choose from of those that name one thing of a few.
    """

    def __init__(
        self,
        rule: ActionRule,
        data: Any = None,
        *,
        images: Iterable[Any] = (),
        choices: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    ) -> None:
        super().__init__(data)
        active = [(str(one.pk), one.name) for one in images if one.status == "active"]
        for argument in rule.arguments:
            self.fields[argument.name] = _field(argument, active, (choices or {}).get(argument.name))

    @property
    def arguments(self) -> dict[str, str]:
        """The texts by name, without those that were left empty. Only of a valid form."""
        given = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        return {name: str(value) for name, value in given.items()}


def wants_image(rule: ActionRule) -> bool:
    """Whether its form offers images."""
    return any(one.kind is ArgumentKind.IMAGE for one in rule.arguments)


def _field(argument: Argument, images: list[tuple[str, str]], choices: Sequence[tuple[str, str]] | None) -> forms.Field:
    words: dict[str, Any] = {
        "label": LABELS.get(argument.name) or argument.name.replace("_", " ").capitalize(),
        "help_text": gettext(argument.help),
        "required": argument.is_required,
    }
    match argument.kind:
        case ArgumentKind.IMAGE:
            first = [] if argument.is_required else [("", gettext("as it is"))]
            return forms.ChoiceField(choices=[*first, *images], **words)
        case ArgumentKind.CHOICE:
            return forms.ChoiceField(choices=[(one, gettext(one)) for one in argument.choices], **words)
        case ArgumentKind.NUMBER:
            words |= {"min_value": argument.min_value, "max_value": argument.max_value}
            return forms.IntegerField(widget=forms.NumberInput(attrs={"class": "short"}), **words)
        case ArgumentKind.PASSWORD:
            widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
            return forms.CharField(max_length=argument.max_length, strip=False, widget=widget, **words)
        case ArgumentKind.TEXT if choices is not None:
            nothing = gettext("choose one") if choices and argument.is_required else gettext("none")
            return forms.ChoiceField(choices=[("", nothing), *choices], **words)
        case ArgumentKind.TEXT:
            return forms.CharField(max_length=argument.max_length, **words)


class DeleteForm(forms.Form):
    """Whether it can be restored for a time."""

    force = forms.BooleanField(
        label=_("For good, at once"), required=False, help_text=_("It cannot be restored, and its disks are lost now.")
    )


class ResetForm(forms.Form):
    """What an instance is reset to, and why."""

    state = forms.ChoiceField(label=_("State"), choices=[("error", _("error")), ("active", _("active"))])
    reason = forms.CharField(
        label=_("Reason"), required=False, max_length=255, help_text=_("Shown in the journey, also to its owner.")
    )
