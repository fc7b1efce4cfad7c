"""The create form. It offers; the service decides, so that page and API have the same rules."""

import base64
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.dashboard.instances.disk_fields import DISKS, VOLUME, block_devices_of, disk_fields
from controlplane.dashboard.pairs_field import PairsField
from controlplane.kernel.units import size_text
from servers.instances.domain.user_data_check import UserDataFinding, UserDataTone, user_data_findings


class InstanceForm(forms.Form):
    """What a person fills in; `wanted` gives it as the service takes it."""

    MAIN = ("name", "flavor", "image", "min_count", "availability_zone")
    MORE = ("networks", "security_groups", "key_name", "group", "hints", "tags")
    # Of ADVANCED, those that become part of another argument.
    NO_ARGUMENTS = ("without_config_drive", "force")
    NEW_KEY = ("new_key_name", "new_public_key")
    USER_DATA = ("user_data", "user_data_as_is")
    ADVANCED = (
        "description",
        "hostname",
        "admin_pass",
        "access_ip_v4",
        "access_ip_v6",
        "disk_config",
        "without_config_drive",
        "host",
        "force",
    )

    name = forms.CharField(
        label=_("Name"), help_text=_("Up to 255 characters. Several instances get -1, -2, ... appended."), strip=False
    )
    flavor = forms.ChoiceField(label=_("Flavor"), help_text=_("How many vCPUs, how much memory and disk."))
    image = forms.ChoiceField(label=_("Image"), help_text=_("What it boots from."))
    min_count = forms.IntegerField(
        label=_("How many"),
        initial=1,
        help_text=_("All of them, or none if they do not fit."),
        widget=forms.NumberInput(attrs={"min": 1, "class": "short"}),
    )
    networks = forms.MultipleChoiceField(
        label=_("Networks"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("A network card in each. None marked: the default network, or the only one that there is."),
    )
    security_groups = forms.MultipleChoiceField(
        label=_("Security groups"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Who may reach it. None marked: the project's default group."),
    )
    availability_zone = forms.ChoiceField(label=_("Availability zone"), required=False)
    key_name = forms.ChoiceField(label=_("Key pair"), required=False)
    new_key_name = forms.CharField(label=_("Name of the new key pair"), required=False, strip=False)
    new_public_key = forms.CharField(
        label=_("Its public key"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_("One line, as ~/.ssh/id_ed25519.pub has it. Leave it empty to have a pair made here."),
    )
    group = forms.ChoiceField(label=_("Server group"), required=False)
    hints = PairsField(
        label=_("Scheduler hints"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_(
            "One key = value a line. same_host and different_host take ids of instances, separated by commas; "
            "query and build_near_host_ip, and what plug-ins read, are taken as they are."
        ),
    )
    user_data = forms.CharField(
        label=_("User data"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "class": "mono code", "spellcheck": "false", "wrap": "off"}),
        help_text=_("A script (#!/bin/sh) or a #cloud-config, as plain text. It is checked as you type."),
    )
    user_data_as_is = forms.BooleanField(label=_("Send it as it is, whatever the check says"), required=False)
    tags = forms.CharField(label=_("Tags"), required=False, help_text=_("Words separated by commas."))
    description = forms.CharField(label=_("Description"), required=False, max_length=255)
    hostname = forms.CharField(
        label=_("Host name"),
        required=False,
        help_text=_("What the guest calls itself, of a single instance. Made from the name if empty."),
    )
    admin_pass = forms.CharField(
        label=_("Administrator's password"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("The guest finds it on its config drive. Kept encrypted, and forgotten once the guest runs."),
    )
    access_ip_v4 = forms.CharField(
        label=_("Access address, IPv4"), required=False, help_text=_("Where you say it is reached.")
    )
    access_ip_v6 = forms.CharField(label=_("Access address, IPv6"), required=False)
    disk_config = forms.ChoiceField(
        label=_("Root partition"),
        required=False,
        choices=[
            ("", _("as the image does")),
            ("AUTO", _("the guest grows it to the disk (AUTO)")),
            ("MANUAL", _("the guest leaves it (MANUAL)")),
        ],
    )
    without_config_drive = forms.BooleanField(
        label=_("No config drive"),
        required=False,
        help_text=_(
            "Then the guest gets no password, and key and user data from its network's metadata service alone."
        ),
    )
    host = forms.CharField(
        label=_("Requested host"),
        required=False,
        help_text=_("The only host that comes into question. It passes all filters, unlike one that is forced."),
    )
    force = forms.CharField(
        label=_("Forced host"),
        required=False,
        help_text=_("host, host:node or :node. No filter is asked."),
    )

    def __init__(
        self,
        data: Any = None,
        *,
        flavors: Iterable[Any],
        images: Iterable[Any],
        keypairs: Iterable[Any],
        groups: Iterable[Any],
        networks: Iterable[Any] = (),
        security_groups: Iterable[Any] = (),
        zones: Iterable[str],
        volumes: Iterable[Any] = (),
        volume_types: Iterable[Any] = (),
        may_name_host: bool = False,
        is_trial: bool = False,
    ) -> None:
        super().__init__(data)
        flavors = list(flavors)
        self._flavor_gib = {str(one.pk): one.root_gib for one in flavors}
        self.fields.update(disk_fields(volumes, volume_types))
        self.is_trial = is_trial
        # What is only tried needs no name yet.
        self.fields["name"].required = not is_trial
        if not may_name_host:
            del self.fields["host"], self.fields["force"]
        named = list(zones)
        self._offer("availability_zone", [("", gettext("any")), *((one, one) for one in named)])
        self.fields["availability_zone"].error_messages["invalid_choice"] = gettext(
            "There is no zone “%%(value)s”; there are: %(zones)s."
        ) % {"zones": ", ".join(named)}
        self._offer("flavor", ((str(one.pk), _flavor_label(one)) for one in flavors if not one.disabled))
        self._offer("image", ((str(one.pk), one.name) for one in images if one.status == "active"))
        self._offer("key_name", [("", gettext("none")), *((one.name, one.name) for one in keypairs)])
        self._offer("group", [("", gettext("none")), *((str(one.pk), f"{one.name} ({one.policy})") for one in groups)])
        self._offer("networks", ((str(one.pk), one.name or str(one.pk)) for one in networks))
        self._offer("security_groups", ((str(one.pk), one.name) for one in security_groups))

    def flavors_mark(self, without_room: Collection[str]) -> None:
        """Let the choice say of these flavors that they fit nowhere. They may be asked for all the same."""
        field = self.fields["flavor"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        choices: Any = field.choices
        marked = gettext("%(flavor)s (fits on no host now)")
        field.choices = [(key, marked % {"flavor": label} if key in without_room else label) for key, label in choices]

    def full_clean(self) -> None:
        """As shown again, the form is one that creates: it asks for a name."""
        super().full_clean()
        self.fields["name"].required = True

    @property
    def is_possible(self) -> bool:
        """Whether there is a flavor and an image to choose."""
        return all(self.fields[name].choices for name in ("flavor", "image"))  # type: ignore[attr-defined]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """What everybody fills in."""
        return [self[name] for name in self.MAIN]

    @property
    def more_fields(self) -> list[forms.BoundField]:
        """What most leave alone."""
        return [self[name] for name in self.MORE if getattr(self.fields[name], "choices", True)]

    @property
    def new_key_fields(self) -> list[forms.BoundField]:
        """A key pair that is added on the spot."""
        return [self[name] for name in self.NEW_KEY]

    @property
    def user_data_typed(self) -> str:
        """As it was typed, with line feeds as ends of lines."""
        return str(self["user_data"].value() or "").replace("\r\n", "\n")

    def clean_user_data(self) -> str:
        """Browsers send CRLF; a script that begins with "#!/bin/sh\\r" would not run.

        What cannot work is refused, unless the mark says to send it as it is; a try shows it and goes on.
        """
        text = str(self.cleaned_data["user_data"]).replace("\r\n", "\n")
        if self.is_trial or self.data.get("user_data_as_is"):
            return text
        broken = [one for one in user_data_findings(text) if one.tone is UserDataTone.BAD]
        if broken:
            raise forms.ValidationError([_finding(one) for one in broken])
        return text

    @property
    def shows_user_data(self) -> bool:
        """As `shows_more`."""
        return self._is_touched([self["user_data"]])

    @property
    def shows_more(self) -> bool:
        """Whether one of the rarer fields was filled in or is wrong, so that it must not be folded away."""
        return self._is_touched(self.more_fields)

    @property
    def shown_disk_fields(self) -> list[forms.BoundField]:
        """What it boots from, and what volumes it gets."""
        return [self[name] for name in DISKS if getattr(self.fields[name], "choices", True)]

    @property
    def shows_disks(self) -> bool:
        """As `shows_more`."""
        return self._is_touched(self.shown_disk_fields)

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        """How the guest is configured."""
        return [self[name] for name in self.ADVANCED if name in self.fields]

    @property
    def shows_advanced(self) -> bool:
        """As `shows_more`."""
        return self._is_touched(self.advanced_fields)

    def _is_touched(self, fields: Iterable[forms.BoundField]) -> bool:
        return any(field.errors or field.value() for field in fields)

    def ready(self) -> "InstanceForm":
        """Itself, with the focus on the first field that is wrong, or on the first of all."""
        wrong = next((name for name in self.fields if name in self.errors), "name")
        self.fields[wrong].widget.attrs["autofocus"] = True
        return self

    def _offer(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        field.choices = list(choices)

    def wanted(self) -> dict[str, Any]:
        """The fields of `InstanceCreate`."""
        data = self.cleaned_data
        force = data.get("force", "")
        disks = block_devices_of(data, self._flavor_gib.get(data["flavor"], 0))
        return {
            "name": data["name"] or "trial",
            "flavor": data["flavor"],
            "image": "" if data["boot_from"].startswith(VOLUME) else data["image"],
            "block_device_mapping_v2": disks,
            "min_count": data["min_count"],
            "availability_zone": f"{data['availability_zone']}:{force}" if force else data["availability_zone"],
            "key_name": data["key_name"],
            "hints": _hints(data["hints"]) | ({"group": data["group"]} if data["group"] else {}),
            "user_data": base64.b64encode(data["user_data"].encode()).decode(),
            "tags": words_of(data["tags"]),
            "networks": [{"network": one} for one in data["networks"]] or None,
            "security_groups": data["security_groups"],
            "config_drive": False if data["without_config_drive"] else None,
            **{
                name: data[name]
                for name in self.ADVANCED
                if name in data and name not in ("without_config_drive", "force")
            },
        }


def words_of(text: str) -> list[str]:
    """Words that a person separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _hints(pairs: Mapping[str, str]) -> dict[str, Any]:
    """As the API takes them: the ids of instances as lists."""
    return {name: words_of(text) if name in ("same_host", "different_host") else text for name, text in pairs.items()}


def _finding(one: UserDataFinding) -> str:
    sentence = one.sentence(gettext)
    return gettext("Line %(line)d: %(text)s") % {"line": one.line, "text": sentence} if one.line else sentence


def _flavor_label(flavor: Any) -> str:
    size = size_text(vcpus=flavor.vcpus, memory_mib=flavor.memory_mib, root_gib=flavor.root_gib)
    return f"{flavor.name}: {size.sentence(gettext)}"
