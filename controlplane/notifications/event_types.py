"""Which events there are. Each app says which ones it emits, so that a pattern that matches none can be refused."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

_TYPES: set[str] = set()


def event_types_register(types: Iterable[str]) -> None:
    """These are emitted. Called when the apps are ready."""
    _TYPES.update(types)


def event_types() -> frozenset[str]:
    """All of them."""
    return frozenset(_TYPES)


def patterns_of_none(patterns: Iterable[str]) -> list[str]:
    """Those that are of no event there is: misspelt, and nobody would ever be told."""
    return [each for each in patterns if not any(fnmatchcase(event_type, each) for event_type in _TYPES)]
