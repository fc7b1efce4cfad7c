"""What a person fills in for an image, beside its properties, which have an editor of their own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from servers.fields import INTEGER_MAX
from servers.images.domain.images import NATIVE, DiskFormat, Visibility

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

VISIBILITY_WORDS = {
    Visibility.PRIVATE: _("private: this project"),
    Visibility.SHARED: _("shared: this project and those it is shared with"),
    Visibility.COMMUNITY: _("community: everybody who knows of it"),
    Visibility.PUBLIC: _("public: everybody, in all lists"),
}


def _min_size(label: "StrOrPromise", help_text: "StrOrPromise") -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=0,
        max_value=INTEGER_MAX,
        initial=0,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"class": "short"}),
    )


class ImagePageForm(forms.Form):
    """The record. What is of an import (OF_IMPORT) is for new ones only."""

    OF_IMPORT = ("import_url", "import_checksum", "import_checksum_url")

    name = forms.CharField(label=_("Name"), strip=False, help_text=_("Up to 255 characters."))
    visibility = forms.ChoiceField(label=_("Visibility"))
    disk_format = forms.ChoiceField(label=_("Disk format"))
    min_disk_gib = _min_size(_("Least root disk (GiB)"), _("Flavors with a smaller one are refused; 0: any."))
    min_ram_mib = _min_size(_("Least memory (MiB)"), _("Flavors with less are refused; 0: any."))
    protected = forms.BooleanField(
        label=_("Protected"), required=False, help_text=_("On: nobody deletes it until this is off.")
    )
    import_url = forms.CharField(
        label=_("Import from URL"),
        required=False,
        max_length=2000,
        help_text=_("Where the file is fetched from. Leave it empty to send a file from here on the next page."),
    )
    import_checksum = forms.CharField(
        label=_("Checksum of that file"),
        required=False,
        max_length=140,
        help_text=_("sha256: and 64 hexadecimal digits, or sha512: and 128."),
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false"}),
    )
    import_checksum_url = forms.CharField(
        label=_("URL of a list of checksums"),
        required=False,
        max_length=2000,
        help_text=_("In place of the checksum: a list that names the file, such as SHA256SUMS beside it."),
    )

    def __init__(self, *args: Any, may_publish: bool, is_new: bool, has_bytes: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        allowed = [one for one in VISIBILITY_WORDS if may_publish or one is not Visibility.PUBLIC]
        self._choices("visibility", [(one.value, VISIBILITY_WORDS[one]) for one in allowed])
        converted = gettext("%(format)s, converted to qcow2")
        formats = [(one.value, one.value if one in NATIVE else converted % {"format": one.value}) for one in DiskFormat]
        self._choices("disk_format", formats)
        if has_bytes:
            del self.fields["disk_format"]
        for name in () if is_new else self.OF_IMPORT:
            del self.fields[name]

    def _choices(self, name: str, choices: "Sequence[tuple[str, StrOrPromise]]") -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - as declared above
        field.choices = list(choices)

    @property
    def plain(self) -> list[forms.BoundField]:
        """What has a label above it."""
        return [field for field in self if not isinstance(field.field, forms.BooleanField)]
