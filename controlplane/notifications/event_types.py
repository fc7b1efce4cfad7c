"""Which events there are. Each app says which ones it emits, so that a pattern that matches none can be refused."""

from collections.abc import Iterable

_TYPES: set[str] = set()


def event_types_register(types: Iterable[str]) -> None:
    """These are emitted. Called when the apps are ready."""
    _TYPES.update(types)


def event_types() -> frozenset[str]:
    """All of them."""
    return frozenset(_TYPES)
