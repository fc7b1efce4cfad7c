"""A field of forms: lines of `key = value`."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _


class PairsField(forms.CharField):
    """Lines of `key = value`; cleaned to a dictionary."""

    def clean(self, value: Any) -> dict[str, str]:
        """Raises ValidationError naming the line."""
        pairs: dict[str, str] = {}
        for line in super().clean(value).splitlines():
            key, sign, text = line.partition("=")
            if line.strip() and not (sign and key.strip()):
                text = _("“%(line)s” is not of the form key = value.")
                raise forms.ValidationError(text % {"line": line.strip()[:80]})
            if line.strip():
                pairs[key.strip()] = text.strip()
        return pairs
