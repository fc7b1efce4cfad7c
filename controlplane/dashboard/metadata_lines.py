"""Metadata as people type it: one `key = value` on each line."""

from collections.abc import Mapping

from django.forms import ValidationError
from django.utils.translation import gettext as _


def metadata_of_lines(text: str) -> dict[str, str]:
    """The lines as pairs; the services have the rules for both halves. Raises ValidationError that names the line."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        key, sign, value = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not sign or not key:
            raise ValidationError(_("Line %(number)s is not of the form key = value.") % {"number": number})
        if key in found:
            raise ValidationError(
                _("Line %(number)s has the key %(key)s once more.") % {"number": number, "key": key[:80]}
            )
        found[key] = value
    return found


def metadata_as_lines(metadata: Mapping[str, str]) -> str:
    """The inverse, in the order of the keys."""
    return "\n".join(f"{key} = {value}" for key, value in sorted(metadata.items()))
