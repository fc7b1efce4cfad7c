"""Sending hints where that costs a message to a server: gathered for a moment, so that a burst is one message.

A process that changes nothing has no thread for it and no connection, and whoever commits waits for nothing.
"""

import logging
import os
import threading
import time
from collections.abc import Collection

import redis
from django.db import Error, connection

from controlplane.work.hints.carriers import carrier

log = logging.getLogger(__name__)
GATHER_S = 0.1
"""Hints of so many seconds go together: ten messages a second of one process at most."""
IDLE_S = 5.0
"""After so long without one, thread and connection are given back."""
MAX_PENDING = 5000
"""Topics kept while a server does not answer. What comes on top of them is not told."""


class HintSender:
    """Safe to use from any thread. Its own thread begins with the first hint, and ends when there was none for long."""

    def __init__(self, *, gather_s: float = GATHER_S, idle_s: float = IDLE_S) -> None:
        self._gather_s = gather_s
        self._idle_s = idle_s
        self._lock = threading.Condition()
        self._pending: set[str] = set()
        self._thread: threading.Thread | None = None
        self._is_closing = False

    def add(self, topics: Collection[str]) -> None:
        """Send these before long. It waits for nothing."""
        with self._lock:
            was_empty = not self._pending
            if len(self._pending) < MAX_PENDING:
                self._pending.update(topics)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
                self._thread.start()
            elif was_empty:
                self._lock.notify()

    def close(self) -> None:
        """End the thread and give its connection back. Whoever adds later begins it anew."""
        with self._lock:
            thread, self._is_closing = self._thread, True
            self._lock.notify()
        if thread is not None:
            thread.join()
        self._is_closing = False

    def _run(self) -> None:
        while self._wait_for_some():
            if not self._is_closing:
                time.sleep(self._gather_s)
            with self._lock:
                topics, self._pending = self._pending, set()
            try:
                carrier().send(topics)
            except (Error, redis.RedisError, OSError, RuntimeError) as error:
                log.warning("%d hints were not told: %s", len(topics), error)
                connection.close()
        connection.close()

    def _wait_for_some(self) -> bool:
        """Whether there is something to send; when not, this thread is no more the sender's."""
        with self._lock:
            self._lock.wait_for(lambda: self._pending or self._is_closing, self._idle_s)
            if not self._pending:
                self._thread = None
            return bool(self._pending)


_SENDER = HintSender()


def hint_sender() -> HintSender:
    """This process's sender."""
    return _SENDER


def _begin_anew() -> None:
    """A fork copies no threads."""
    global _SENDER  # noqa: PLW0603 - one a process
    _SENDER = HintSender()


os.register_at_fork(after_in_child=_begin_anew)
