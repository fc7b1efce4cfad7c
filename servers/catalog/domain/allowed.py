"""What the text of an extra spec or an image property may be: each kind with the words that describe it to people."""

import json
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from controlplane.kernel.booleans import is_boolean
from controlplane.kernel.cpu_list import MAX_CPU, is_cpu_list

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_PAGE_SIZE = re.compile(r"large|small|any|[0-9]{1,18}([kKMGT]i?)?(b|bit|B)?")
_VERSIONS = re.compile(r"\s*(<=|>=|<|>|!=|==)\s*[0-9][\w.\-+]*\s*(,\s*(<=|>=|<|>|!=|==)\s*[0-9][\w.\-+]*\s*)*")


@dataclass(frozen=True, slots=True)
class Allowed:
    """A kind of value: `words` complete the sentence 'it must be ...', `fits` judges one text."""

    words: str
    fits: Callable[[str], bool]


def allowed_values(text: str) -> tuple[str, ...]:
    """The words of a list that is written with spaces."""
    return tuple(text.split())


def some_text(words: str = "some text") -> Allowed:
    """Any text but the empty one."""
    return Allowed(words, bool)


def any_text() -> Allowed:
    """Any text, the empty one included."""
    return Allowed("any text", lambda value: True)


def boolean() -> Allowed:
    """A truth value as Nova reads it, refusing what is neither."""
    return Allowed("yes or no (also true, false, on, off, 1, 0)", is_boolean)


def one_of(*words: str) -> Allowed:
    """One of these words, to the letter."""
    return Allowed("one of " + ", ".join(words), lambda value: value in words)


def choice_any_case(words: Iterable[str], also: Iterable[str] = ()) -> Allowed:
    """One of these words in any case of letters. Those of `also` are older names: taken, not advertised."""
    listed = tuple(words)
    known = frozenset(word.lower() for word in (*listed, *also))
    return Allowed("one of " + ", ".join(listed), lambda value: value.lower() in known)


def number(minimum: int | None = None, maximum: int | None = None) -> Allowed:
    """A whole number within these bounds, both included."""
    if minimum is None:
        words = "a whole number"
    else:
        words = (
            f"a whole number of at least {minimum}"
            if maximum is None
            else f"a whole number from {minimum} to {maximum}"
        )

    def fits(value: str) -> bool:
        if not _NUMBER.fullmatch(value):
            return False
        amount = int(value)
        return (minimum is None or minimum <= amount) and (maximum is None or amount <= maximum)

    return Allowed(words, fits)


def form(pattern: str, words: str) -> Allowed:
    """Text of this form, from its first character to its last."""
    compiled = re.compile(pattern)
    return Allowed(words, lambda value: compiled.fullmatch(value) is not None)


def cpu_list() -> Allowed:
    """Numbers, ranges and `^` exclusions, as Nova's CPU masks are written."""
    return Allowed(f"a list of CPUs from 0 to {MAX_CPU} such as 0-3,^1", is_cpu_list)


def page_size() -> Allowed:
    """One of Nova's three words, a number of KiB, or a number with its unit."""
    words = "large, small, any, a number of KiB or a size such as 2MB"
    return Allowed(words, lambda value: _PAGE_SIZE.fullmatch(value) is not None)


def version_bounds() -> Allowed:
    """Comparisons with versions, joined by commas."""
    return Allowed("comparisons with versions such as >=2.6,<3", lambda value: _VERSIONS.fullmatch(value) is not None)


def a_uuid() -> Allowed:
    """A UUID in any of its usual spellings."""
    return Allowed("a uuid", _is_uuid)


def json_objects() -> Allowed:
    """A list of objects as JSON."""
    return Allowed("a list of objects as JSON", _is_list_of_objects)


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
