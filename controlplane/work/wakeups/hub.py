"""One waiter a process for any number of queues: its thread hears wake-ups and hands them to whoever waits for them.

An agent's long poll is a `Future` here: it holds neither a thread nor a database connection. Wake-ups are taken for
queues that somebody waits for alone; for the others they stay until somebody does, or until the work is found without.
"""

import logging
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, InvalidStateError

from django.db import close_old_connections

from controlplane.kernel.errors import Unavailable
from controlplane.work.wakeups.many_queues import ManyQueues, many_queues_open
from controlplane.work.wakeups.receivers import ReceivedWakeup

log = logging.getLogger(__name__)
Wakeups = list[ReceivedWakeup]

LISTEN_S = 5.0
REST_AFTER_FAILURE_S = 1.0


class WakeupHub:
    """Safe to use from any thread. Its own thread lives as long as the process."""

    def __init__(self, open_queues: Callable[[], ManyQueues] = many_queues_open) -> None:
        self._open_queues = open_queues
        self._lock = threading.Lock()
        self._waiting: dict[str, set[Future[Wakeups]]] = {}
        self._queues: ManyQueues | None = None
        self._came = threading.Event()

    def next_wakeups(self, queue: str) -> "Future[Wakeups]":
        """What rings next for this queue, or Unavailable. Whoever gives up waiting cancels it."""
        future: Future[Wakeups] = Future()
        with self._lock:
            is_new = queue not in self._waiting
            self._waiting.setdefault(queue, set()).add(future)
            if self._queues is None:
                self._queues = self._open_queues()
                threading.Thread(target=self._run, args=(self._queues,), name="wakeups", daemon=True).start()
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

    def _forget(self, queue: str, future: "Future[Wakeups]") -> None:
        with self._lock:
            futures = self._waiting.get(queue, set())
            futures.discard(future)
            if not futures:
                self._waiting.pop(queue, None)

    def _run(self, queues: ManyQueues) -> None:
        while True:
            with self._lock:
                wanted = set(self._waiting)
                self._came.clear()
            if not wanted:
                self._came.wait()
                continue
            try:
                self._hand_out(queues.wait(wanted, LISTEN_S))
            except Unavailable as error:
                self._fail(wanted, error)
                threading.Event().wait(REST_AFTER_FAILURE_S)
            except Exception as error:  # the one thread that all long polls hang on
                log.exception("wake-ups could not be heard")
                self._fail(wanted, Unavailable(f"wake-ups could not be heard: {type(error).__name__}"))
                threading.Event().wait(REST_AFTER_FAILURE_S)
            finally:
                close_old_connections()

    def _hand_out(self, wakeups: dict[str, Wakeups]) -> None:
        for queue, rung in wakeups.items():
            for future in self._take(queue):
                # Two that wait for one queue are one agent whose older poll was cut off: to look twice does no harm.
                _settle(future, lambda future, rung=rung: future.set_result(rung))  # type: ignore[misc]

    def _fail(self, queues: Collection[str], error: Unavailable) -> None:
        for queue in queues:
            for future in self._take(queue):
                _settle(future, lambda future: future.set_exception(error))

    def _take(self, queue: str) -> "set[Future[Wakeups]]":
        with self._lock:
            return set(self._waiting.get(queue, ()))


def _settle(future: "Future[Wakeups]", do: "Callable[[Future[Wakeups]], None]") -> None:
    try:
        do(future)
    except InvalidStateError:
        return  # it was given up at this moment; the work is found without its wake-up


_HUB = WakeupHub()


def wakeup_hub() -> WakeupHub:
    """This process's hub."""
    return _HUB
