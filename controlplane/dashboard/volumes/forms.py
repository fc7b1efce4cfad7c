"""The forms of volumes, the same values as in `/api/`."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.dashboard.metadata_lines import metadata_as_lines, metadata_of_lines
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.units import gib_text
from servers.volumes.domain.volumes import VolumeRequest

SOURCE_TITLES = {
    VolumeSourceKind.IMAGE: _("Images"),
    VolumeSourceKind.SNAPSHOT: _("Snapshots"),
    VolumeSourceKind.VOLUME: _("Volumes"),
    VolumeSourceKind.BACKUP: _("Backups"),
}


class VolumePageForm(forms.Form):
    """A new volume. `source` is `kind:id`; empty for a blank one."""

    name = forms.CharField(label=_("Name"), required=False, strip=False, help_text=_("Up to 255 characters."))
    size_gib = forms.IntegerField(
        label=_("Size (GiB)"),
        required=False,
        min_value=1,
        help_text=_("It can grow later, and never shrinks. Empty: as large as its source needs."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    volume_type = forms.ChoiceField(
        label=_("Type"), required=False, help_text=_("Where it is, how fast it may be, whether it is encrypted.")
    )
    source = forms.ChoiceField(label=_("Begins with"), required=False)
    description = forms.CharField(label=_("Description"), required=False)
    pool = forms.CharField(
        label=_("Pool"),
        required=False,
        help_text=_("Name or id of the pool, for administrators. Empty: the one with most room."),
    )

    def __init__(
        self,
        data: Any = None,
        *,
        types: Iterable[Any],
        images: Iterable[Any],
        snapshots: Iterable[Any],
        volumes: Iterable[Any],
        backups: Iterable[Any] = (),
        may_name_pool: bool,
        **more: Any,
    ) -> None:
        super().__init__(data, **more)
        self._offer("volume_type", [("", gettext("the default")), *((str(one.pk), _type_label(one)) for one in types)])
        groups = {
            VolumeSourceKind.IMAGE: [(one.pk, one.name) for one in images if one.status == "active"],
            VolumeSourceKind.SNAPSHOT: [
                (one.pk, f"{one.name or one.pk}, {gib_text(one.size_gib)}") for one in snapshots
            ],
            VolumeSourceKind.VOLUME: [(one.pk, f"{one.name or one.pk}, {gib_text(one.size_gib)}") for one in volumes],
            VolumeSourceKind.BACKUP: [(one.pk, f"{one.name or one.pk}, {gib_text(one.size_gib)}") for one in backups],
        }
        offered: list[Any] = [("", gettext("nothing: it is blank"))]
        for kind, rows in groups.items():
            if rows:
                offered.append((SOURCE_TITLES[kind], [(f"{kind.value}:{pk}", label) for pk, label in rows]))
        self._offer("source", offered)
        if not may_name_pool:
            del self.fields["pool"]

    def _offer(self, name: str, choices: list[Any]) -> None:
        field: Any = self.fields[name]
        field.choices = choices

    def volume_request(self) -> VolumeRequest:
        """What the filled-in form asks for."""
        said = self.cleaned_data
        kind, _, source = said["source"].partition(":")
        return VolumeRequest(
            size_gib=said["size_gib"],
            name=said["name"],
            description=said["description"],
            volume_type=said["volume_type"],
            source_kind=VolumeSourceKind(kind) if kind else VolumeSourceKind.BLANK,
            source_id=parse_uuid(source) if source else None,
            pool=said.get("pool") or "",
        )


def _type_label(one: Any) -> str:
    said = ((gettext("encrypted"), one.is_encrypted), (gettext("for several"), one.is_multiattach))
    words = [text for text, is_so in said if is_so]
    label = f"{one.name} ({', '.join(words)})" if words else one.name
    return gettext("%(name)s, the default") % {"name": label} if one.is_default else label


class VolumeEditForm(forms.Form):
    """What may be changed later."""

    name = forms.CharField(label=_("Name"), required=False, strip=False)
    description = forms.CharField(label=_("Description"), required=False)
    metadata = forms.CharField(
        label=_("Metadata"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"}),
        help_text=_("One key = value on each line."),
    )
    is_bootable = forms.BooleanField(label=_("Instances may boot from it"), required=False)
    is_read_only = forms.BooleanField(label=_("Instances may only read it"), required=False)

    @staticmethod
    def initial_of(volume: Any) -> dict[str, Any]:
        """The values of now."""
        return {
            "name": volume.name,
            "description": volume.description,
            "metadata": metadata_as_lines(volume.metadata),
            "is_bootable": volume.is_bootable,
            "is_read_only": volume.is_read_only,
        }

    def clean_metadata(self) -> dict[str, str]:
        """The lines as pairs; the service has the rules for both halves."""
        return metadata_of_lines(self.cleaned_data["metadata"])

    def changes(self) -> dict[str, Any]:
        """What differs from before."""
        return {name: self.cleaned_data[name] for name in self.changed_data}
