"""What a form holds, before it becomes the body of a call."""

from collections.abc import Callable, Mapping
from typing import Any

Sent = Mapping[str, list[str]]
"""What a form holds, by field: texts, none of a box that is not ticked."""
Reader = Callable[[Sent], dict[str, Any]]
"""What of a form stands in the body."""


def text_of(sent: Sent, name: str) -> str:
    """The text of one field; empty where there is none."""
    return sent.get(name, [""])[-1] if sent.get(name) else ""


def lines_of(sent: Sent, name: str) -> list[str]:
    """The lines of one field, without those that are empty."""
    return [line.strip() for line in text_of(sent, name).splitlines() if line.strip()]
