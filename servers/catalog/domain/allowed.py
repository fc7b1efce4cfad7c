"""What the text of an extra spec or an image property may be: each kind with the words that describe it to people."""

import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from controlplane.kernel.booleans import is_boolean
from controlplane.kernel.cpu_list import MAX_CPU, is_cpu_list
from controlplane.kernel.texts import Translate, gettext_noop, in_english

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_PAGE_SIZE = re.compile(r"large|small|any|[0-9]{1,18}([kKMGT]i?)?(b|bit|B)?")
ONE_OF = gettext_noop("one of {words}")
_VERSIONS = re.compile(r"\s*(<=|>=|<|>|!=|==)\s*[0-9][\w.\-+]*\s*(,\s*(<=|>=|<|>|!=|==)\s*[0-9][\w.\-+]*\s*)*")


@dataclass(frozen=True, slots=True)
class Allowed:
    """A kind of value: `words` complete the sentence 'it must be ...', `fits` judges one text.

    `choices` are the values that can be listed; empty where there are too many. `template` is what is translated, with
    places for the `values`; both are empty where the words have none.
    """

    words: str
    fits: Callable[[str], bool]
    choices: tuple[str, ...] = ()
    template: str = ""
    values: Mapping[str, object] = field(default_factory=dict)

    def sentence(self, translate: Translate = in_english) -> str:
        """The words in the language of `translate`."""
        return translate(self.template).format(**self.values) if self.template else translate(self.words)


def _filled(template: str, fits: Callable[[str], bool], choices: tuple[str, ...] = (), **values: object) -> Allowed:
    """A kind whose words have values in them."""
    return Allowed(template.format(**values), fits, choices, template, values)


def allowed_values(text: str) -> tuple[str, ...]:
    """The words of a list that is written with spaces."""
    return tuple(text.split())


def some_text(words: str = gettext_noop("some text")) -> Allowed:
    """Any text but the empty one."""
    return Allowed(words, bool)


def any_text() -> Allowed:
    """Any text, the empty one included."""
    return Allowed(gettext_noop("any text"), lambda value: True)


def boolean() -> Allowed:
    """A truth value as Nova reads it, refusing what is neither."""
    return Allowed(gettext_noop("yes or no (also true, false, on, off, 1, 0)"), is_boolean, ("yes", "no"))


def one_of(*words: str) -> Allowed:
    """One of these words, to the letter."""
    return _filled(ONE_OF, lambda value: value in words, words, words=", ".join(words))


def choice_any_case(words: Iterable[str], also: Iterable[str] = ()) -> Allowed:
    """One of these words in any case of letters. Those of `also` are older names: taken, not advertised."""
    listed = tuple(words)
    known = frozenset(word.lower() for word in (*listed, *also))
    return _filled(ONE_OF, lambda value: value.lower() in known, listed, words=", ".join(listed))


def number(minimum: int | None = None, maximum: int | None = None) -> Allowed:
    """A whole number within these bounds, both included."""
    if minimum is None:
        words = gettext_noop("a whole number")
    elif maximum is None:
        words = gettext_noop("a whole number of at least {minimum}")
    else:
        words = gettext_noop("a whole number from {minimum} to {maximum}")

    def fits(value: str) -> bool:
        if not _NUMBER.fullmatch(value):
            return False
        amount = int(value)
        return (minimum is None or minimum <= amount) and (maximum is None or amount <= maximum)

    return _filled(words, fits, minimum=minimum, maximum=maximum)


def form(pattern: str, words: str) -> Allowed:
    """Text of this form, from its first character to its last."""
    compiled = re.compile(pattern)
    return Allowed(words, lambda value: compiled.fullmatch(value) is not None)


def cpu_list() -> Allowed:
    """Numbers, ranges and `^` exclusions, as Nova's CPU masks are written."""
    return _filled(gettext_noop("a list of CPUs from 0 to {last} such as 0-3,^1"), is_cpu_list, last=MAX_CPU)


def page_size() -> Allowed:
    """One of Nova's three words, a number of KiB, or a number with its unit."""
    words = gettext_noop("large, small, any, a number of KiB or a size such as 2MB")
    return Allowed(
        words, lambda value: _PAGE_SIZE.fullmatch(value) is not None, ("large", "small", "any", "2MB", "1GB")
    )


def version_bounds() -> Allowed:
    """Comparisons with versions, joined by commas."""
    words = gettext_noop("comparisons with versions such as >=2.6,<3")
    return Allowed(words, lambda value: _VERSIONS.fullmatch(value) is not None)


def a_uuid() -> Allowed:
    """A UUID in any of its usual spellings."""
    return Allowed(gettext_noop("a uuid"), _is_uuid)


def json_objects() -> Allowed:
    """A list of objects as JSON."""
    return Allowed(gettext_noop("a list of objects as JSON"), _is_list_of_objects)


def _is_uuid(value: str) -> bool:
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True


def _is_list_of_objects(value: str) -> bool:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(isinstance(each, dict) for each in found)
