"""The forms of what is made of volumes: their snapshots and backups."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from controlplane.dashboard.metadata_lines import metadata_as_lines, metadata_of_lines
from controlplane.kernel.units import gib_text


class BackupEditForm(forms.Form):
    """What may be changed of a backup."""

    name = forms.CharField(label=_("Name"), required=False, strip=False)
    description = forms.CharField(label=_("Description"), required=False)

    @staticmethod
    def initial_of(row: Any) -> dict[str, Any]:
        """The values of now."""
        return {"name": row.name, "description": row.description}

    def changes(self) -> dict[str, Any]:
        """What differs from before."""
        return {name: self.cleaned_data[name] for name in self.changed_data}


class SnapshotEditForm(BackupEditForm):
    """What may be changed of a snapshot."""

    metadata = forms.CharField(
        label=_("Metadata"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"}),
        help_text=_("One key = value on each line."),
    )

    @staticmethod
    def initial_of(row: Any) -> dict[str, Any]:
        """The values of now."""
        return BackupEditForm.initial_of(row) | {"metadata": metadata_as_lines(row.metadata)}

    def clean_metadata(self) -> dict[str, str]:
        """The lines as pairs; the service has the rules for both halves."""
        return metadata_of_lines(self.cleaned_data["metadata"])


class RestoreForm(forms.Form):
    """Which volume gets what a backup has."""

    volume = forms.ChoiceField(label=_("Volume"))

    def __init__(self, data: Any = None, *, volumes: Iterable[Any]) -> None:
        super().__init__(data)
        field: Any = self.fields["volume"]
        field.choices = [(str(one.pk), f"{one.name or one.pk}, {gib_text(one.size_gib)}") for one in volumes]
