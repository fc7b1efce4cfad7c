"""Connections to PostgreSQL persist between requests. One that the server ended is found before a request uses it.

After a restart of the database each thread's first request would be a 503 otherwise, however long ago that was. The
socket says it without a word to the server: nothing is to be read between two requests, but that it was closed.
"""

import select
from typing import Any

from django.db import connections


def ended_connections_close(**_of_signal: object) -> None:
    """Close this thread's connections that the server ended; whoever needs one next opens it again."""
    for each in connections.all(initialized_only=True):
        if each.vendor != "postgresql" or each.connection is None or each.in_atomic_block:
            continue
        if each.connection.closed or (has_unread(each.connection) and not each.is_usable()):
            each.close()


def has_unread(connection: Any) -> bool:
    """Whether the server sent something that nobody read, such as its end."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
