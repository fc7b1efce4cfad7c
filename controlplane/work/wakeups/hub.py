"""One waiter a process for any number of queues: its thread hears wake-ups and hands them to whoever waits for them.

An agent's long poll is a `Future` here: it holds neither a thread nor a database connection. Wake-ups are taken for
queues that somebody waits for alone; for the others they stay until somebody does, or until the work is found without.
"""

import logging
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from django.db import close_old_connections, connection

from controlplane.infra.database_errors import is_unforeseen
from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from controlplane.work.wakeups.many_queues import ManyQueues, many_queues_open
from controlplane.work.wakeups.received import ReceivedWakeup
from controlplane.work.wakeups.send import wakeups_send

log = logging.getLogger(__name__)
Wakeups = list[ReceivedWakeup]

LISTEN_S = 5.0
REST_AFTER_FAILURE_S = 1.0


class WakeupHub:
    """Safe to use from any thread. Its own thread begins with the first who waits, and ends with `close`."""

    def __init__(self, open_queues: Callable[[], ManyQueues] = many_queues_open) -> None:
        self._open_queues = open_queues
        self._lock = threading.Lock()
        self._waiting: dict[str, set[Future[Wakeups]]] = {}
        self._queues: ManyQueues | None = None
        self._thread: threading.Thread | None = None
        self._came = threading.Event()

    def next_wakeups(self, queue: str) -> "Future[Wakeups]":
        """The wake-ups that come next for this queue, or Unavailable. Whoever gives up waiting cancels it."""
        future: Future[Wakeups] = Future()
        with self._lock:
            is_new = queue not in self._waiting
            self._waiting.setdefault(queue, set()).add(future)
            if self._queues is None:
                self._queues = self._open_queues()
                self._thread = threading.Thread(target=self._run, args=(self._queues,), name="wakeups", daemon=True)
                self._thread.start()
        future.add_done_callback(lambda done: self._forget(queue, done))
        self._came.set()
        if is_new:
            self._queues.interrupt()
        return future

    @property
    def waiting(self) -> int:
        """How many wait now."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def close(self) -> None:
        """End the thread and give its connections back. Who waits now waits in vain; who comes later is served."""
        with self._lock:
            queues, self._queues = self._queues, None
        if queues is not None and self._thread is not None:
            self._came.set()
            queues.interrupt()
            self._thread.join()

    def _forget(self, queue: str, future: "Future[Wakeups]") -> None:
        with self._lock:
            futures = self._waiting.get(queue, set())
            futures.discard(future)
            if not futures:
                self._waiting.pop(queue, None)

    def _run(self, queues: ManyQueues) -> None:
        while self._is_open(queues):
            with self._lock:
                wanted = set(self._waiting)
            if not wanted:
                self._came.wait()
                self._came.clear()
                continue
            try:
                self._hand_out(queues.wait(wanted, LISTEN_S))
            except Unavailable as error:
                self._fail(wanted, error)
                threading.Event().wait(REST_AFTER_FAILURE_S)
            except Exception as error:  # the one thread that all long polls hang on
                log.error("wake-ups could not be heard: %s", error, exc_info=is_unforeseen(error))
                self._fail(wanted, Unavailable(_("wake-ups could not be heard: {name}", name=type(error).__name__)))
                threading.Event().wait(REST_AFTER_FAILURE_S)
            finally:
                close_old_connections()
        queues.close()
        connection.close()

    def _is_open(self, queues: ManyQueues) -> bool:
        with self._lock:
            return self._queues is queues

    def _hand_out(self, wakeups: dict[str, Wakeups]) -> None:
        for queue, came in wakeups.items():
            is_delivered = False
            for future in self._take(queue):
                # Two that wait for one queue are one agent whose older poll was cut off: to look twice does no harm.
                with suppress(InvalidStateError):
                    future.set_result(came)
                    is_delivered = True
            if not is_delivered:  # whoever waited gave up at this moment, and will most often be back soon
                wakeups_send((queue, each.code, each.ref) for each in came)

    def _fail(self, queues: Collection[str], error: Unavailable) -> None:
        for queue in queues:
            for future in self._take(queue):
                with suppress(InvalidStateError):
                    future.set_exception(error)

    def _take(self, queue: str) -> "set[Future[Wakeups]]":
        with self._lock:
            return set(self._waiting.get(queue, ()))


_HUB = WakeupHub()


def wakeup_hub() -> WakeupHub:
    """This process's hub."""
    return _HUB
