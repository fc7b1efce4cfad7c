"""The create form. It offers; the service decides, so that page and API have the same rules."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext

from controlplane.dashboard.instances.create_fields import InstanceFields
from controlplane.dashboard.instances.disk_fields import DISKS, VOLUME, block_devices_of, disk_fields
from controlplane.dashboard.instances.file_fields import FILE_COLUMNS, FileRow, files_field
from controlplane.dashboard.instances.interface_fields import (
    NIC_COLUMNS,
    InterfaceRow,
    interface_choices,
    interface_fields,
    networks_asked,
)
from controlplane.dashboard.metadata_lines import metadata_of_lines
from controlplane.kernel.units import size_text
from servers.instances.domain.instance_rules import ALL_OR_NOTHING
from servers.instances.domain.user_data_check import UserDataFinding, UserDataTone, user_data_findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """Rows to choose from, those that the caller may use; `zones` by name. `certificates`, `ports`, `volumes`: those of
    the project, or free for it.
    """

    flavors: Sequence[Any]
    images: Sequence[Any]
    keypairs: Sequence[Any]
    groups: Sequence[Any]
    networks: Sequence[Any]
    ports: Sequence[Any]
    security_groups: Sequence[Any]
    certificates: Sequence[Any]
    zones: Sequence[str]
    volumes: Sequence[Any]
    volume_types: Sequence[Any]


class InstanceForm(InstanceFields):
    """The filled-in form; `wanted` gives it as the service takes it."""

    opens = ""
    """Which rows were asked to be more: interfaces or files."""

    def __init__(
        self,
        data: Any = None,
        files: Any = None,
        *,
        offered: Offered,
        may_name_host: bool = False,
        is_trial: bool = False,
    ) -> None:
        super().__init__(data, files)
        self._flavor_gib = {str(one.pk): one.root_gib for one in offered.flavors}
        self.fields.update(interface_fields() | {"personality": files_field()})
        self.fields.update(disk_fields(offered.volumes, offered.volume_types))
        self.interface_choices = interface_choices(offered.networks, offered.ports)
        self.is_trial = is_trial
        # What is only tried needs no name yet.
        self.fields["name"].required = not is_trial
        for name in () if may_name_host else self.FOR_ADMINS:
            del self.fields[name]
        self._offer("availability_zone", [("", gettext("any")), *((one, one) for one in offered.zones)])
        self.fields["availability_zone"].error_messages["invalid_choice"] = gettext(
            "There is no zone “%%(value)s”; there are: %(zones)s."
        ) % {"zones": ", ".join(offered.zones)}
        self._offer("flavor", ((str(one.pk), _flavor_label(one)) for one in offered.flavors if not one.disabled))
        self._offer("image", ((str(one.pk), one.name) for one in offered.images if one.status == "active"))
        self._offer("key_name", [("", gettext("none")), *((one.name, one.name) for one in offered.keypairs)])
        self._offer(
            "group", [("", gettext("none")), *((str(one.pk), f"{one.name} ({one.policy})") for one in offered.groups)]
        )
        self._offer("networks", ((str(one.pk), one.name or str(one.pk)) for one in offered.networks))
        self._offer("security_groups", ((str(one.pk), one.name) for one in offered.security_groups))
        self._offer("trusted_image_certificates", ((str(one.pk), one.name) for one in offered.certificates))

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

    def clean_metadata(self) -> dict[str, str]:
        """The lines as pairs; the service has the rules for both halves."""
        return metadata_of_lines(self.cleaned_data["metadata"])

    def clean(self) -> dict[str, Any]:
        """Of networks the API takes a word or a list, so that a form with both says neither."""
        data = super().clean() or {}
        if data.get("network_choice") and (data.get("networks") or data.get("interfaces")):
            text = gettext("Networks or interfaces are named, too: take these away, or choose “as named”.")
            self.add_error("network_choice", text)
        return data

    @property
    def networks_at(self) -> str:
        """The field by which the form says what the API calls `networks`."""
        data = self.cleaned_data
        return (
            "network_choice" if data.get("network_choice") else "interfaces" if data.get("interfaces") else "networks"
        )

    @property
    def interface_rows(self) -> list[tuple[InterfaceRow, str]]:
        """See `InterfaceChoices.rows_shown`."""
        return self.interface_choices.rows_shown(self["interfaces"].value() or [], is_longer=self.opens == "interfaces")

    @property
    def shows_interfaces(self) -> bool:
        """As `shows_more`."""
        return self.opens == "interfaces" or self._is_touched([self["network_choice"], self["interfaces"]])

    @property
    def file_rows(self) -> list[FileRow]:
        """The rows that are filled in, and one that is not."""
        return [*(self["personality"].value() or []), *[FileRow()] * (2 if self.opens == "files" else 1)]

    @property
    def shows_files(self) -> bool:
        """As `shows_more`."""
        return self.opens == "files" or self._is_touched([self["personality"]])

    @property
    def rows_filled_in(self) -> dict[str, list[str]]:
        """Of the rows what stands in their inputs, by the inputs' names; of files the paths."""
        cards = [(one.of, one.fixed_ip, one.tag) for one in self["interfaces"].value() or []]
        columns = {name: [row[number] for row in cards] for number, name in enumerate(NIC_COLUMNS)}
        return columns | {FILE_COLUMNS[0]: [one.path for one in self["personality"].value() or []]}

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
        there = [self[name] for name in self.ADVANCED if name in self.fields]
        return [field for field in there if getattr(field.field, "choices", True)]

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
            "networks": networks_asked(data["network_choice"], data["networks"], data["interfaces"]),
            "metadata": data["metadata"],
            "max_count": data["max_count"],
            "batch": data["batch"] or ALL_OR_NOTHING,
            "protected": data["protected"],
            "personality": data["personality"],
            "security_groups": data["security_groups"],
            "config_drive": False if data["without_config_drive"] else None,
            **{name: data[name] for name in self.ADVANCED if name in data and name not in self.NO_ARGUMENTS},
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
