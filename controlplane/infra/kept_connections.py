"""Connections to PostgreSQL are kept between requests. One that the server ended is found before a request uses it.

After a restart of the database each thread's first request would be a 503 otherwise, however long ago that was. The
socket says it without a word to the server: nothing is to be read between two requests, but that it was closed.
"""

import select
from typing import Any

from django.db import connections


def ended_connections_close(**_of_signal: object) -> None:
    """Close this thread's connections that the server ended; whoever needs one next opens it again."""
    for kept in connections.all(initialized_only=True):
        if kept.vendor != "postgresql" or kept.connection is None or kept.in_atomic_block:
            continue
        if kept.connection.closed or (has_unread(kept.connection) and not kept.is_usable()):
            kept.close()


def has_unread(connection: Any) -> bool:
    """Whether the server sent something that nobody read, such as its end."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
