"""The field for a webhook's patterns in the admin: boxes for those that people ask for most, lines for any other."""

from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from controlplane.notifications.patterns import PATTERNS

OFFERED = tuple(pattern for pattern, _ in PATTERNS)


class PatternsWidget(forms.Widget):
    """Boxes and lines, all of one name."""

    template_name = "admin/widgets/patterns.html"

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """With the project's own templates, which the renderer of forms does not look into."""
        chosen = [str(each) for each in value or []]
        context = {
            "name": name,
            "label": "Events",
            "offered": [{"pattern": each, "meaning": said, "is_chosen": each in chosen} for each, said in PATTERNS],
            "other": "\n".join(each for each in chosen if each not in OFFERED),
        }
        return mark_safe(render_to_string(self.template_name, context))  # noqa: S308 - a template's output

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        """Each once, in the order of the form."""
        lines = [line.strip() for text in data.getlist(name) for line in text.splitlines()]
        return list(dict.fromkeys(line for line in lines if line))

    def id_for_label(self, id_: str) -> str:
        """No box alone is what the label is about."""
        return ""


class PatternsField(forms.Field):
    """A list of patterns. The rules for each are the service's."""

    widget = PatternsWidget

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whatever the order."""
        return sorted(initial or []) != sorted(data or [])
