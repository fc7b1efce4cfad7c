"""What the hash of an entry is made of. Pure: no Django, so anybody can verify an exported log by the same rule."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

NO_HASH = "0" * 64
"""What stands before the first entry."""
TEXT_MAX = 500
JSON_MAX = 4000
"""Characters of one value that an entry holds; more is cut and says so."""
CONTENT = (
    "occurred_at",
    "action",
    "result",
    "reason",
    "user_id",
    "user_name",
    "user_project_id",
    "door",
    "address",
    "request_id",
    "target_kind",
    "target_id",
    "target_name",
    "project_id",
    "before",
    "after",
)
"""The fields that the hash is over: all but an entry's place in the chain, which the hash has beside them."""
_SECRET = re.compile(
    r"(^|_)(secret|secrets|password|passphrase|token|digest|credential|credentials|private|user_data|key_material"
    r"|adminpass|auth_key|word|salt)(_|$)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*://)(?:[^/@\s]*@)?([^?#\s]*)[^\s]*", re.IGNORECASE)
_HIDDEN = "(not shown)"


def entry_hash(content: Mapping[str, Any], *, number: int, previous: str) -> str:
    """SHA-256, in hexadecimal digits, over the hash before it, its number and its content."""
    document = {name: _canonical(content[name]) for name in CONTENT}
    text = json.dumps([previous, number, document], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(value) if isinstance(value, UUID) else value


def is_secret(name: str) -> bool:
    """Whether a field of this name may hold what nobody may read in a log."""
    return _SECRET.search(name) is not None


def storable(name: str, value: Any) -> Any:
    """The value as an entry holds it: what JSON has, without fractions, NUL characters and secrets, and cut in length.

    What is stored must read back the same from every database, or its hash would not fit any more.
    """
    plain = _plain(name, value)
    if isinstance(plain, dict | list) and len(text := json.dumps(plain, sort_keys=True)) > JSON_MAX:
        return f"{text[:TEXT_MAX]}... ({len(text)} characters)"
    return plain


def _plain(name: str, value: Any) -> Any:  # noqa: PLR0911 - one line for each kind of value
    if name and is_secret(name):
        return _HIDDEN if value not in (None, "") else value
    match _by_name(value):
        case None | bool():
            return value
        case Enum():
            return _plain("", value.value)
        case int():
            return value
        case float() | Decimal() | UUID():
            return str(value)
        case datetime():
            return _canonical(value)
        case date():
            return value.isoformat()
        case Mapping() as named:
            return {clean_text(str(key)): _plain(str(key), one) for key, one in named.items()}
        case list() | tuple() | set() | frozenset():
            members = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            return [_plain("", one) for one in members]
        case _:
            return clean_text(_without_access(str(value)))


def _by_name(value: Any) -> Any:
    """What a service takes as one argument has fields, of which some may be secret: each is looked at by its name."""
    return {one.name: getattr(value, one.name) for one in fields(value)} if is_dataclass(value) else value


def _without_access(text: str) -> str:
    """An address without the user, password and query in it, which may give access to what it names."""
    return _ADDRESS.sub(r"\1\2", text)


def clean_text(text: str, length: int = TEXT_MAX) -> str:
    """What every database can hold, and not too much of it."""
    fit = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return fit if len(fit) <= length else f"{fit[: length - 3]}..."
