"""Room for open consoles in this web process: a view judges a request, the server goes on with its connection.

A server that can do so offers places around the requests for the two paths. Under any other there are none.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OpenedConsole:
    """A session that was opened: its guest's host, and where the process that holds it is reached."""

    session_id: uuid.UUID
    host: str
    holder: str
    is_read_only: bool


class ConsolePlaces(Protocol):
    """What one request for a console is offered."""

    @property
    def holder(self) -> str:
        """Where this process can be reached by the others."""

    def room_require(self) -> None:
        """Raises Unavailable where there is no room for one more."""

    def browser(self, session: OpenedConsole) -> Iterator[bytes]:
        """The body of the response to whoever opened the session."""

    def host(self, session: OpenedConsole) -> Iterator[bytes]:
        """The body of the response to the guest's host."""


_offered: "ContextVar[ConsolePlaces | None]" = ContextVar("offered_console_places", default=None)


@contextmanager
def console_places_offered(places: ConsolePlaces) -> Iterator[None]:
    """The request that is served inside may become one end of a console."""
    token = _offered.set(places)
    try:
        yield
    finally:
        _offered.reset(token)


def console_places() -> ConsolePlaces | None:
    """Where this request may become one; None under a server that can hold none."""
    return _offered.get()
