"""Texts of the domain that pages show in the reader's language.

The domain knows no languages. It marks its texts, so that they are found by those who translate them, and a rule that
makes a sentence of a template and values takes the function that translates the template. What is stored, logged or
answered to programs is made without one, so it is English.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Self

Translate = Callable[[str], str]
"""From an English text to the same in another language. Places for values, such as `{wanted}`, stay as they are."""


def gettext_noop(text: str) -> str:
    """Marks a text that pages translate, and gives it back as it is. Extraction knows it by this name."""
    return text


def in_english(text: str) -> str:
    """The translation that leaves every text as it is written."""
    return text


class Phrase(str):
    """An English text that knows the template and the values it was made of, so that a page can say it otherwise.

    It is stored, compared and answered to programs like any text. Values that are phrases are translated with it.
    """

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        made = super().__new__(cls, template.format(**values) if values else template)
        made.template, made.values = template, values
        return made

    def sentence(self, translate: Translate = in_english) -> str:
        """The text in the language of `translate`."""
        template = translate(self.template)
        if not self.values:
            return template
        values = {name: _said(value, translate) for name, value in self.values.items()}
        return template.format(**values)

    def __reduce__(self) -> tuple[object, ...]:
        return _phrase, (type(self), self.template, dict(self.values))


def phrase(template: str, /, **values: object) -> str:
    """A sentence of a template and its values, in English, that pages say in the reader's language.

    Modules import it as `_`, by which extraction finds the template:
    `raise Conflict(_("Volume {volume} is {state}.", volume=row, state=row.state))`.
    """
    return Phrase(template, **values)


def joined(parts: Iterable[str], template: str) -> str:
    """Texts as one, each put to those before it by a template with places for `first` and `rest`."""
    found = ""
    for part in parts:
        found = Phrase(template, first=found, rest=part) if found else part
    return found


def sentences(parts: Iterable[str]) -> str:
    """Sentences, one after the other."""
    return joined(parts, gettext_noop("{first} {rest}"))


def any_of(words: Iterable[str]) -> str:
    """Words of which each will do: 'active or paused'."""
    return joined(words, gettext_noop("{first} or {rest}"))


def reread(text: str, templates: Iterable[str]) -> str:
    """A text that was stored as a phrase of the first of the templates that it can have been made of; else as it is."""
    for template in templates:
        found = values_read(text, template)
        if found is not None:
            return Phrase(template, **found)
    return text


def values_read(text: str, template: str) -> dict[str, str] | None:
    """The values, as they are written in a text, of which the template can have made it; None where it cannot."""
    found = _pattern(template).fullmatch(text)
    return found.groupdict() if found is not None else None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What a text made of the template looks like. What is put right behind a word or another value may be empty.

    People write texts that are read back. So a value between two texts ends, once and for all, where the second one
    comes first (an atomic group): if what follows fits further on, it fits there too, as the next value takes the rest.
    Otherwise a text of a thousand characters could be divided in more ways than anybody has time for.
    """
    pieces, known = re.split(r"\{(\w+)[^}]*\}", template), set[str]()
    places, last = pieces[1::2], len(pieces) // 2 - 1
    is_repeated = len(set(places)) < len(places)  # where what stands further on decides how far a value goes
    found = re.escape(pieces[0])
    for number, (before, place, after) in enumerate(zip(pieces[::2], places, pieces[2::2], strict=False)):
        is_adjacent = bool(known) and not before
        if place in known:
            value = f"(?P={place})"
        elif is_adjacent:
            value = rf"(?P<{place}>(?:\W.*?)?)"
        else:
            value = f"(?P<{place}>{'.*?' if before[-1:].isalpha() else '.+?'})"
        known.add(place)
        ends_there = after and number < last and not is_adjacent and not is_repeated
        found += f"(?>{value}{re.escape(after)})" if ends_there else value + re.escape(after)
    return re.compile(found, re.DOTALL)


def _said(value: object, translate: Translate) -> object:
    return value.sentence(translate) if isinstance(value, Phrase) else value


def _phrase(kind: type[Phrase], template: str, values: Mapping[str, object]) -> Phrase:
    return kind(template, **values)
