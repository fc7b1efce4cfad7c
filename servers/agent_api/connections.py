"""On which database connection a verb runs: the calling thread's own, or one that the threads of an agent share.

Django gives each thread a connection. An agent has a dozen threads that nearly always wait, and there may be
thousands of agents: lent for one call at a time, two connections do for all of them, and one more for the calls by
which an agent keeps its place, which must not wait behind others.
"""

import queue
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from django.db import close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper

ALIAS = "default"
MAX_AT_ONCE = 2


class Connections(Protocol):
    """Where verbs get their connection from. Not to be nested."""

    def lent(self, *, is_vital: bool = False) -> AbstractContextManager[None]:
        """Within it, the calling thread has a connection that is alive as far as is known."""


class OwnConnections:
    """Each thread keeps the one that Django gives it."""

    @contextmanager
    def lent(self, *, is_vital: bool = False) -> Iterator[None]:
        """See Connections."""
        del is_vital
        close_old_connections()
        yield


class SharedConnections:
    """At most `maximum` connections, and one for vital calls; each is opened when it is needed first, and kept.

    The threads may have none of their own when they come: it would be lost.
    """

    def __init__(self, *, maximum: int = MAX_AT_ONCE) -> None:
        self._ordinary = _free(maximum)
        self._vital = _free(1)

    @contextmanager
    def lent(self, *, is_vital: bool = False) -> Iterator[None]:
        """See Connections."""
        free = self._vital if is_vital else self._ordinary
        held = free.get()
        try:
            connections[ALIAS] = held
            held.close_if_unusable_or_obsolete()
            yield
        finally:
            del connections[ALIAS]
            free.put(held)


def _free(count: int) -> "queue.LifoQueue[BaseDatabaseWrapper]":
    """Not opened yet. The one given back last is lent first, so that few calls need few connections."""
    free: queue.LifoQueue[BaseDatabaseWrapper] = queue.LifoQueue()
    for _ in range(count):
        held = connections.create_connection(ALIAS)
        held.inc_thread_sharing()
        free.put(held)
    return free
