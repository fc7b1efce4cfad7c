"""Streams of events (server-sent events) that a view begins and a web server holds without a thread.

A server that can do so offers places around the requests for `STREAM_PATH` (`places_offered`). The view asks for them
(`places`), and answers with the body that a place gives. Under any other server there are none, and it says so.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

STREAM_PATH = "/events/"
Tell = Callable[[str], None]


def event(name: str, data: str = "") -> str:
    """One event as it is written to a stream. `data` is one line."""
    return f"event: {name}\ndata: {data}\n\n"


class Feed(Protocol):
    """What a stream tells, and to whom."""

    @property
    def owner(self) -> str:
        """Whom the stream counts for: one owner has a bounded number of them."""

    def begin(self, tell: Tell) -> None:
        """Call `tell` with events from now on, from any thread. The same event told again before it is written is
        written once.
        """

    def end(self) -> None:
        """Tell nothing any more."""


class Places(Protocol):
    """Room for streams in this process."""

    def take(self, feed: Feed, may_go_on: "MayGoOn") -> Iterator[bytes]:
        """The body of the response that becomes the stream. Raises Unavailable and Throttled where there is no room."""


class MayGoOn(Protocol):
    """Asked now and then about streams that are open, in a thread that may use the database."""

    def __call__(self, feeds: Sequence[Feed]) -> Sequence[bool]:
        """Of each, whether its owner may still hear what it tells."""


_offered: "ContextVar[Places | None]" = ContextVar("offered_stream_places", default=None)


@contextmanager
def places_offered(places: Places) -> Iterator[None]:
    """The request that is served inside may become a stream."""
    token = _offered.set(places)
    try:
        yield
    finally:
        _offered.reset(token)


def places() -> Places | None:
    """Where this request may become a stream; None under a server that can hold none."""
    return _offered.get()
