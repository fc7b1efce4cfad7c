"""The editor of keys and values in forms of the admin: a row for each pair, with what is known of its key.

It works without a script: some rows are always blank. With one, rows are added and keys explained as they are typed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from controlplane.infra.reader_texts import said
from controlplane.kernel.texts import Translate, gettext_noop

BLANK_ROWS = 3
MAX_ROWS = 300
MAX_DIGITS = 19
Pair = tuple[str, str]


class Words(Protocol):
    """A text that can be said in another language."""

    def sentence(self, translate: Translate) -> str:
        """The text in the language of `translate`."""


class Plain(NamedTuple):
    """Words that are marked for translation, with places for the `values` where there are any."""

    text: str
    values: Mapping[str, object] = MappingProxyType({})

    def sentence(self, translate: Translate) -> str:
        """The text in the language of `translate`."""
        text = translate(self.text)
        return text.format(**self.values) if self.values else text


class KnownKey(NamedTuple):
    """A key that means something here, by words that are marked for translation. One of a family has placeholders, and
    cannot be chosen as it is.
    """

    key: str
    means: Words
    must_be: Words | None = None
    is_family: bool = False

    @property
    def meaning(self) -> str:
        """What it means, in the reader's language."""
        return self.means.sentence(_)

    @property
    def allowed(self) -> str:
        """What its value must be, in the reader's language; empty where there is no rule."""
        return self.must_be.sentence(_) if self.must_be else ""

    @property
    def hint(self) -> str:
        """What stands below a row with it."""
        return (
            f"{self.meaning} {_('It must be %(allowed)s.') % {'allowed': self.allowed}}"
            if self.must_be
            else self.meaning
        )


class Vocabulary(NamedTuple):
    """What is known of the keys of one field: all of them, one that was typed, what is wrong with a pair, and why
    nothing can be made of one that is right.
    """

    keys: Sequence[KnownKey]
    find: Callable[[str], KnownKey | None]
    complaint: Callable[[str, str], str] = lambda key, value: ""
    unknown: str = gettext_noop("This key is not known here: it is kept as it is.")
    refusal: Callable[[str, str], str] = lambda key, value: ""


def vocabulary_of(keys: Sequence[KnownKey], unknown: str) -> Vocabulary:
    """One in which every key stands for itself."""
    by_key = {one.key: one for one in keys}
    return Vocabulary(keys, by_key.get, unknown=unknown)


class PairsWidget(forms.Widget):
    """Rows of two fields, with a list of known keys."""

    template_name = "admin/widgets/pairs.html"

    class Media:
        """Adding rows, and hints while one types."""

        js: ClassVar[list[str]] = ["kilonova/pairs.js"]

    def __init__(self, vocabulary: Vocabulary, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        self.vocabulary = vocabulary

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """With the project's own templates, which the renderer of forms does not look into."""
        context = self.get_context(name, value, attrs)
        return mark_safe(render_to_string(self.template_name, context))  # noqa: S308 - a template's output

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """The rows, as stored or as they were typed."""
        pairs = pairs_of(value)
        rows = [self._row(key, text) for key, text in pairs] + [self._row("", "")] * BLANK_ROWS
        context = super().get_context(name, value, attrs)
        known = self.vocabulary.keys
        return {
            **context,
            "rows": rows,
            "known": known,
            "offered": [one for one in known if not one.is_family],
            "list_id": f"{name}-keys",
        }

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[Pair] | None:
        """What was typed, row by row; rows that are blank are left out."""
        if self.value_omitted_from_data(data, files, name):
            return None
        keys, values = data.getlist(f"{name}_key")[:MAX_ROWS], data.getlist(f"{name}_value")[:MAX_ROWS]
        pairs = [(key.strip(), value.strip()) for key, value in zip(keys, values, strict=False)]
        return [pair for pair in pairs if any(pair)]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        """A form without the editor says nothing of the pairs."""
        return f"{name}_key" not in data

    def id_for_label(self, id_: str) -> str:
        """No field alone is what the label is about."""
        return ""

    def _row(self, key: str, value: str) -> dict[str, str]:
        found = self.vocabulary.find(key) if key else None
        wrong = self.vocabulary.complaint(key, value) if key and value else ""
        hint = found.hint if found else _(self.vocabulary.unknown) if key and not wrong else ""
        refused = said(self.vocabulary.refusal(key, value)) if key and value and not wrong else ""
        return {"key": key, "value": value, "hint": hint, "wrong": wrong, "refused": refused}


class KeyedTextField(forms.Field):
    """Text by key. The rules for both are the service's."""

    def __init__(self, vocabulary: Vocabulary, **options: Any) -> None:
        super().__init__(widget=PairsWidget(vocabulary), required=False, **options)

    def to_python(self, value: Any) -> dict[str, Any]:
        """A mapping. Raises ValidationError for what only a form can get wrong: no key, or one twice."""
        if value is None:
            raise forms.ValidationError(_("Its rows were not sent, so that it is not known what they shall be."))
        found: dict[str, Any] = {}
        for key, text in pairs_of(value):
            if not key:
                raise forms.ValidationError(_("The value %(value)s has no key.") % {"value": text[:80]})
            if key in found:
                raise forms.ValidationError(_("%(key)s is there more than once.") % {"key": key[:80]})
            found[key] = self.value_of(key, text)
        return found

    def value_of(self, key: str, text: str) -> Any:
        """A value as it is stored."""
        return text

    def validate(self, value: Any) -> None:
        """No pair at all is fine."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whatever the order of the rows."""
        return sorted(pairs_of(initial)) != sorted(pairs_of(data))


class NumbersField(KeyedTextField):
    """Whole numbers by key."""

    def value_of(self, key: str, text: str) -> int:
        """Raises ValidationError for what is no number."""
        if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS):
            raise forms.ValidationError(
                _("%(key)s: %(text)s is no whole number of up to %(digits)s digits.")
                % {"key": key[:80], "text": text[:80], "digits": MAX_DIGITS}
            )
        return int(text)


def pairs_of(value: Any) -> list[Pair]:
    """Stored pairs in the order of their keys, typed ones in the order of their rows."""
    if isinstance(value, Mapping):
        return sorted((str(key), str(text)) for key, text in value.items())
    rows: Iterable[Any] = value or []
    return [(str(key), str(text)) for key, text in rows]
