"""Typed readers of the environment, and the list of settings they declare.

Only this module reads `os.environ`. Each setting of ours is declared once, with its type, default and the
sentence that `docs/settings.md` prints. A value that does not parse stops the process.
"""

import ipaddress
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

from controlplane.kernel.booleans import is_boolean, is_true

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EnvSetting:
    """One declared setting: where its value comes from and what it means."""

    name: str
    kind: str
    default: str
    help: str


DECLARED: dict[str, EnvSetting] = {}


def _read(name: str, kind: str, default: T, parse: Callable[[str], T], help_text: str) -> T:
    DECLARED[name] = EnvSetting(name=name, kind=kind, default=str(default), help=help_text)
    raw = os.environ.get(name)
    if raw is None or raw == "":
        return default
    try:
        return parse(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be {kind}, not {raw!r}: {error}") from error


def is_given(name: str) -> bool:
    """Whether the environment has a value that counts."""
    return bool(os.environ.get(name))


def text(name: str, default: str, help_text: str) -> str:
    """A string, as it stands."""
    return _read(name, "text", default, str, help_text)


def integer(name: str, default: int, help_text: str, *, minimum: int = 0) -> int:
    """A whole number, not below `minimum`."""
    return _read(name, f"a whole number >= {minimum}", default, lambda raw: _not_below(int(raw), minimum), help_text)


def number(name: str, default: float, help_text: str, *, minimum: float = 0.0) -> float:
    """A number, not below `minimum`."""
    return _read(name, f"a number >= {minimum:g}", default, lambda raw: _not_below(float(raw), minimum), help_text)


def boolean(name: str, default: bool, help_text: str) -> bool:
    """yes/no, true/false, on/off, 1/0."""
    return _read(name, "yes or no", default, _parse_boolean, help_text)


def words(name: str, default: tuple[str, ...], help_text: str) -> tuple[str, ...]:
    """Words separated by commas; order is kept."""
    DECLARED[name] = EnvSetting(name, "words separated by commas", ",".join(default), help_text)
    raw = os.environ.get(name, "")
    return tuple(word.strip() for word in raw.split(",") if word.strip()) or default


def networks(name: str, help_text: str) -> tuple[str, ...]:
    """IP addresses and networks separated by commas; none by default."""
    found = words(name, (), help_text)
    for word in found:
        try:
            ipaddress.ip_network(word)
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} must hold addresses and networks: {error}") from error
    return found


def choice(name: str, values: tuple[str, ...], help_text: str) -> str:
    """One of `values`; the first is the default."""
    return _read(name, "one of " + ", ".join(values), values[0], lambda raw: _one_of(raw, values), help_text)


def _one_of(raw: str, values: tuple[str, ...]) -> str:
    if raw not in values:
        raise ValueError("unknown")
    return raw


N = TypeVar("N", int, float)


def _not_below(value: N, minimum: N) -> N:
    if value < minimum:
        raise ValueError(f"below {minimum}")
    return value


def _parse_boolean(raw: str) -> bool:
    if not is_boolean(raw):
        raise ValueError("neither yes nor no")
    return is_true(raw)
