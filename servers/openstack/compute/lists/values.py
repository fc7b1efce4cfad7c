"""Values of query parameters, as Nova's clients write them."""

import re
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from django.db import connection
from django.utils.dateparse import parse_datetime

from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.moments import in_utc
from controlplane.openstack.faults import bad_request

T = TypeVar("T")
LONGEST_PATTERN, SQLITE_REPEATS = 255, 2
_GROUPS = re.compile(r"[(){}\\]|[*+?][*+]|\[[^\]]*\[")
_CLASS_OR_ESCAPED = re.compile(r"\[[^\]]*\]|\\([-_/:@,#~=!%&;.+*?$|])")
_CLASS, _REPEATS = re.compile(r"\[[^\]]*\]"), re.compile(r"[*+?]")
_META = re.compile(r"[.^$*+?\[\]|]")


def flag(name: str, value: str) -> bool:
    """Without a value it means yes. Raises Fault 400 for what is no truth value."""
    if not value:
        return True
    if not is_boolean(value):
        raise bad_request(f"Invalid input for query parameters {name}. Value: {value:.80}. It is no truth value.")
    return is_true(value)


def moment(name: str, value: str) -> datetime:
    """A moment by ISO 8601; one without a zone is UTC. Raises Fault 400."""
    text = value.replace(" ", "+") if value.count(":") > 2 else value  # a plus sign that was not escaped
    try:
        if found := parse_datetime(text if ":" in text else f"{text}T00:00:00"):
            return in_utc(found)
    except ValueError:
        pass
    raise bad_request(f"Invalid input for query parameters {name}. Value: {value:.80}. It is no moment.")


def identifier(_name: str, value: str) -> uuid.UUID | None:
    """None for what is no id, which nothing has."""
    return parse_uuid(value)


def pattern(name: str, value: str) -> tuple[str, bool]:
    """A text to be looked for, and whether it is a regular expression.

    Groups, counts and classes by name are not taken; a text with such characters is looked for as it is. A backslash
    makes a character stand for itself, as every database understands it once it is written as a class. Raises Fault
    400, on SQLite also for more than SQLITE_REPEATS of `*+?`: it matches by going back to try again, in Python, where
    each of them makes the search of a long name a hundred times longer.
    """
    if len(value) > LONGEST_PATTERN:
        raise bad_request(f"Invalid input for query parameters {name}. It has more than {LONGEST_PATTERN} characters.")
    found = _CLASS_OR_ESCAPED.sub(_itself, value)
    if _GROUPS.search(found):
        return value, False
    if not _META.search(found):
        return found, False
    try:
        re.compile(found)
    except re.error:
        return value, False
    if connection.vendor == "sqlite" and len(_REPEATS.findall(_CLASS.sub("", found))) > SQLITE_REPEATS:
        raise bad_request(
            f"Invalid input for query parameters {name}. It has more than {SQLITE_REPEATS} of * + ?, which is too much "
            "for SQLite."
        )
    return found, True


def _itself(found: "re.Match[str]") -> str:
    character = found[1]
    if character is None:
        return found[0]
    return f"[{character}]" if _META.search(character) else character


def parsed(name: str, values: list[str], read: Callable[[str, str], T]) -> list[T]:
    """All values of a parameter that may come more than once."""
    return [read(name, value) for value in values]
