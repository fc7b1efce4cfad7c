"""Sentences of services, and those that were stored, in the reader's language.

A refusal carries its template and values (kernel.texts.Phrase). What was stored is English: it is read back by the
templates that the translations hold, so nothing has to be kept beside the text, and old rows are read as well.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from django.conf import settings
from django.utils.translation import get_language, gettext, override
from django.utils.translation.trans_real import translation

from controlplane.kernel.errors import InvalidFields, KilonovaError
from controlplane.kernel.texts import Phrase, values_read

FEWEST_LETTERS = 5
"""A template with fewer letters of its own than this would read anything."""
DEEPEST = 4
"""So deep sentences are read within sentences."""
LONGEST = 1000
"""Characters of a text that is read back; longer ones are output of programs."""
_PLACE = re.compile(r"\{(\w+)[^}]*\}")
_BOUNDARY = re.compile(r"(?<=[.?!]) (?=[A-Z0-9'“])")


def said(text: object) -> str:
    """A sentence in the reader's language: of a phrase by its template, of stored English by the template that it can
    have been made of. What nobody translated stays as it is; None is empty.
    """
    if isinstance(text, Phrase):
        return text.sentence(gettext)
    plain = str(text) if text else ""
    language = get_language()
    if not plain.strip() or not language or language == settings.LANGUAGE_CODE or len(plain) > LONGEST:
        return plain
    return _said_of_stored(plain, language, DEEPEST)


def said_in(language: str, text: object) -> str:
    """The same in a language of the pages; English in one that there is not."""
    known = language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
    with override(known):
        return said(text)


def refusal_text(error: KilonovaError) -> str:
    """Why a service refused, in the reader's language."""
    return said(error.message)


def refusal_reasons(error: KilonovaError) -> dict[str, list[str]]:
    """Every reason of a refusal by its field, in the reader's language; the field is empty where none is named."""
    reasons = error.errors if isinstance(error, InvalidFields) else {error.field or "": [error.message]}
    return {field: [said(text) for text in texts] for field, texts in reasons.items()}


@lru_cache(maxsize=2048)
def _said_of_stored(text: str, language: str, depth: int) -> str:
    whole = gettext(text) if text in _catalog(language) else ""
    if whole or not depth:
        return whole or text
    for template in _candidates(text, language):
        found = values_read(text, template)
        if found is not None and not _is_several(template, found):
            values = {name: _said_of_value(value, language, depth - 1) for name, value in found.items()}
            return _filled(gettext(template), values)
    parts = _BOUNDARY.split(text)
    if len(parts) > 1:
        return "".join(_spaced([_said_of_stored(part, language, depth - 1) for part in parts]))
    head, colon, rest = text.partition(": ")
    if colon and head in _catalog(language):
        return gettext("{first}: {rest}").format(first=gettext(head), rest=_said_of_stored(rest, language, depth - 1))
    return text


def _said_of_value(text: str, language: str, depth: int) -> str:
    """Words may be names, and stay; sentences and parts of them are read."""
    return _said_of_stored(text, language, depth) if " " in text.strip() else text


def _is_several(template: str, values: Mapping[str, str]) -> bool:
    """Whether a value took whole sentences that stand before what the template says. The last one may have some."""
    *early, last = values.values()
    if template.startswith("{"):
        early.append(last)
    return any(_BOUNDARY.search(value) for value in early)


def _spaced(parts: list[str]) -> Iterator[str]:
    """A space after what ends in a full stop of Latin letters; Chinese ones need none."""
    for number, part in enumerate(parts):
        yield part if number + 1 == len(parts) or not part.isascii() else f"{part} "


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The values as they were written: they have their formats already."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), template)


def _candidates(text: str, language: str) -> Iterator[str]:
    """Templates that the text may have been made of, those with most letters of their own first."""
    by_start, others = _templates(language)
    for template in (*by_start.get(text.partition(" ")[0], ()), *others):
        if all(piece in text for piece in _literals(template)):
            yield template


@cache
def _catalog(language: str) -> frozenset[str]:
    """The English texts that there is a translation of."""
    known = vars(translation(language))["_catalog"]
    return frozenset(text for text in known.keys() if isinstance(text, str))  # noqa: SIM118 - it is no mapping


@cache
def _templates(language: str) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Templates by their first word, and those that begin with a value; the most telling first."""
    known = [text for text in _catalog(language) if _PLACE.search(text) and "%(" not in text and "\x04" not in text]
    telling = sorted((text for text in known if _letters(text) >= FEWEST_LETTERS), key=_letters, reverse=True)
    by_start: dict[str, tuple[str, ...]] = {}
    others: list[str] = []
    for text in telling:
        start = text.partition(" ")[0]
        if "{" in start:
            others.append(text)
        else:
            by_start[start] = (*by_start.get(start, ()), text)
    return by_start, tuple(others)


@cache
def _literals(template: str) -> tuple[str, ...]:
    return tuple(piece for piece in _PLACE.sub("\x00", template).split("\x00") if piece.strip())


def _letters(template: str) -> int:
    return sum(letter.isalpha() for letter in _PLACE.sub("", template))
