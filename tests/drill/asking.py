"""What every share of the mixed load needs to ask the API."""

from collections.abc import Callable
from typing import Any

Ask = Callable[..., Any]
"""`Load.ask`: the body of an accepted request, None otherwise."""


def listed(ask: Ask, path: str) -> list[dict[str, Any]]:
    """The rows of a list. Nothing, where the answer broke off."""
    found: list[dict[str, Any]] = (ask(path, None, "GET") or {}).get("results", [])
    return found
