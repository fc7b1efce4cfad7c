"""A verdict that was stored, in the reader's language.

Verdicts are made and kept in English (verdict.py). Here they are read back piece by piece, so that pages can say them
otherwise, also those of years ago. What cannot be read stays as it is.
"""

import re
from collections.abc import Iterator
from functools import cache
from re import Match, Pattern

from controlplane.kernel.reasons import RefusalReason
from controlplane.kernel.texts import Phrase, Translate, gettext_noop, in_english, joined, reread

_SUCCESS = re.compile(
    r"(?P<hosts>\d+) of (?P<total>\d+) hosts chosen"
    r"(?: for (?P<placed>\d+)(?: of (?P<count>\d+))? instances)?(?:: (?P<names>.+))?"
)
_FAILURE = re.compile(
    r"No host fits(?: instance (?P<at>\d+) of (?P<count>\d+))?: (?P<causes>.+?)"
    r"(?:; (?:closest is (?P<host>.+), |the closest is )(?P<lacks>.+) short)?"
)
_CAUSE = re.compile(r"(?P<every>all )?(?P<count>\d[\d,]*) (?P<what>.+)|the only one (?P<does>.+)")
_BETWEEN = re.compile(r", (?=(?:all )?\d[\d,]* |the only one )")
_LACKS = (gettext_noop("{amount} of memory"), gettext_noop("{amount} of disk"))
_NAMES = (gettext_noop("{names} and {count} more"), gettext_noop("{host} (score {score})"))
_NO_HOSTS = gettext_noop("No host fits: there are no hosts")
_OBJECTS = (gettext_noop("trait {names}"), gettext_noop("traits {names}"))


def verdict_text(verdict: str, translate: Translate = in_english) -> str:
    """The verdict in the language of `translate`."""
    if translate(_NO_HOSTS) == _NO_HOSTS:
        return verdict
    read = _failure(verdict, translate) or _success(verdict)
    return read.sentence(translate) if read is not None else verdict


def _success(verdict: str) -> Phrase | None:
    found = _SUCCESS.fullmatch(verdict)
    if found is None:
        return None
    if found["count"]:
        text = Phrase(gettext_noop("{hosts} of {total} hosts chosen for {placed} of {count} instances"), **_of(found))
    elif found["placed"]:
        text = Phrase(gettext_noop("{hosts} of {total} hosts chosen for {placed} instances"), **_of(found))
    else:
        text = Phrase(gettext_noop("{hosts} of {total} hosts chosen"), **_of(found))
    if not found["names"]:
        return text
    return Phrase(gettext_noop("{sentence}: {names}"), sentence=text, names=reread(found["names"], _NAMES))


def _of(found: Match[str]) -> dict[str, str]:
    return {name: text for name, text in found.groupdict().items() if text and name != "names"}


def _failure(verdict: str, translate: Translate) -> Phrase | None:
    if verdict == _NO_HOSTS:
        return Phrase(_NO_HOSTS)
    found = _FAILURE.fullmatch(verdict)
    if found is None:
        return None
    causes = joined(_causes(found["causes"], translate), gettext_noop("{first}, {rest}"))
    if found["at"]:
        text = Phrase(
            gettext_noop("No host fits instance {at} of {count}: {causes}"),
            at=found["at"],
            count=found["count"],
            causes=causes,
        )
    else:
        text = Phrase(gettext_noop("No host fits: {causes}"), causes=causes)
    if not found["lacks"]:
        return text
    parts = (reread(part, _LACKS) for part in found["lacks"].split(" and "))
    lacks = joined(parts, gettext_noop("{first} and {rest}"))
    if not found["host"]:
        return Phrase(gettext_noop("{sentence}; the closest is {lacks} short"), sentence=text, lacks=lacks)
    closest = gettext_noop("{sentence}; closest is {host}, {lacks} short")
    return Phrase(closest, sentence=text, host=found["host"], lacks=lacks)


def _causes(text: str, translate: Translate) -> Iterator[str]:
    """Of each reason, how many hosts and what they do. The count and the words are parts of one template."""
    for part in _BETWEEN.split(text):
        found = _CAUSE.fullmatch(part)
        if found is None:
            yield part
        elif found["does"]:
            yield Phrase(gettext_noop("the only one {what}"), what=_what(found["does"], 1, translate))
        else:
            every = gettext_noop("all {count} {what}")
            template = every if found["every"] else gettext_noop("{count} {what}")
            number = 1 if found["count"] == "1" else 2
            yield Phrase(template, count=found["count"], what=_what(found["what"], number, translate))


def _what(text: str, count: int, translate: Translate) -> str:
    """What hosts do or are, by the words of the reasons; as it is where no reason has them."""
    if plain := _plain(count).get(text):
        return plain.of_hosts(count, translate=translate)
    for reason, pattern in _with_object(count):
        if found := pattern.fullmatch(text):
            named = reread(found[1], _OBJECTS)
            said = named.sentence(translate) if isinstance(named, Phrase) else named
            return reason.of_hosts(count, said, translate)
    return text


@cache
def _plain(count: int) -> dict[str, RefusalReason]:
    return {one.of_hosts(count): one for one in RefusalReason}


@cache
def _with_object(count: int) -> tuple[tuple[RefusalReason, Pattern[str]], ...]:
    """The reasons that name an object, those with the longest words first: 'lack the capability' before 'lack'."""
    named = [(one, one.of_hosts(count, "{}")) for one in RefusalReason if one.names_object]
    named.sort(key=lambda one: -len(one[1]))
    return tuple((one, re.compile(re.escape(text).replace(r"\{\}", "(.+)"))) for one, text in named)
