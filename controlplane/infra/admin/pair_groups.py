"""The editor of several groups of keys and values in forms of the admin: the rows of `pairs`, once for each group.

It works without a script: one group is always blank. A group whose rows are all emptied is gone.
"""

from typing import Any, ClassVar

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from controlplane.infra.admin.pairs import KeyedTextField, Pair, PairsWidget, Vocabulary, pairs_of

MAX_GROUPS = 50


class PairGroupsWidget(forms.Widget):
    """A set of rows for each group, and a blank one."""

    template_name = "admin/widgets/pair_groups.html"

    class Media:
        """Adding rows, and hints while one types."""

        js: ClassVar[list[str]] = ["kilonova/pairs.js"]

    def __init__(self, vocabulary: Vocabulary, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        self.pairs = PairsWidget(vocabulary)

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """With the project's own templates, which the renderer of forms does not look into."""
        groups = [*(value if isinstance(value, list) else []), {}]
        editors = [self.pairs.render(f"{name}_{at}", group) for at, group in enumerate(groups)]
        return mark_safe(render_to_string(self.template_name, {"editors": editors}))  # noqa: S308 - a template's output

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[list[Pair]] | None:
        """What was typed, group by group; blank ones are left out."""
        if self.value_omitted_from_data(data, files, name):
            return None
        groups = (self.pairs.value_from_datadict(data, files, f"{name}_{at}") for at in range(MAX_GROUPS))
        return [rows for rows in groups if rows]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        """A form without the editor says nothing of the groups."""
        return f"{name}_0_key" not in data

    def id_for_label(self, id_: str) -> str:
        """No field alone is what the label is about."""
        return ""


class PairGroupsField(forms.Field):
    """A list of groups of text by key. The rules for all of them are the service's."""

    def __init__(self, vocabulary: Vocabulary, **options: Any) -> None:
        super().__init__(widget=PairGroupsWidget(vocabulary), required=False, **options)
        self.group = KeyedTextField(vocabulary)

    def to_python(self, value: Any) -> list[dict[str, Any]]:
        """A list of mappings. Raises ValidationError naming the group for a row without a key, or one twice."""
        if value is None:
            raise forms.ValidationError(_("Its rows were not sent, so that it is not known what they shall be."))
        groups = []
        for at, rows in enumerate(value):
            try:
                groups.append(self.group.to_python(rows))
            except forms.ValidationError as error:
                raise forms.ValidationError(
                    [f"{_('Group %(number)s') % {'number': at + 1}}: {text}" for text in error.messages]
                ) from error
        return groups

    def has_changed(self, initial: Any, data: Any) -> bool:
        """The order of groups counts, that of the rows in one does not."""
        return [sorted(pairs_of(one)) for one in initial or []] != [sorted(pairs_of(one)) for one in data or []]
