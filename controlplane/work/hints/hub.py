"""One listener a process for any number of streams: its thread hears hints and hands them to whoever wants them."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from django.db import connection

from controlplane.infra.database_errors import is_unforeseen
from controlplane.work.hints.carriers import HintListener, carrier

log = logging.getLogger(__name__)
LISTEN_S = 5.0
REST_AFTER_FAILURE_S = 1.0


class Subscriber(Protocol):
    """Whoever wants to hear of some topics. Both methods may be called from any thread, and must not wait."""

    @property
    def topics(self) -> Collection[str]:
        """What it wants to hear of; always the same."""

    def hinted(self, topics: set[str]) -> None:
        """These of its topics changed."""

    def listening(self) -> None:
        """From now on everything is heard. What changed before may not have been, so look once."""


class HintHub:
    """Safe to use from any thread. Its own thread begins with the first subscriber, and ends after the last."""

    def __init__(self, listener: Callable[[], HintListener] = lambda: carrier().listener()) -> None:
        self._new_listener = listener
        self._lock = threading.Lock()
        self._by_topic: dict[str, set[Subscriber]] = defaultdict(set)
        self._subscribers: set[Subscriber] = set()
        self._fresh: set[Subscriber] = set()
        self._listener: HintListener | None = None
        self._is_listening = False
        self._thread: threading.Thread | None = None

    def subscribe(self, subscriber: Subscriber) -> None:
        """Tell it from now on. When that is, `listening` says: at once where others are told already."""
        with self._lock:
            self._subscribers.add(subscriber)
            is_listening = self._is_listening
            if not is_listening:
                self._fresh.add(subscriber)
            for topic in subscriber.topics:
                self._by_topic[topic].add(subscriber)
            if self._listener is None:
                self._listener = self._new_listener()
                self._thread = threading.Thread(target=self._run, args=(self._listener,), name="hint-hub", daemon=True)
                self._thread.start()
        if is_listening:
            subscriber.listening()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Tell it no more. Nothing, when it was not told."""
        with self._lock:
            self._subscribers.discard(subscriber)
            self._fresh.discard(subscriber)
            for topic in subscriber.topics:
                wanted = self._by_topic.get(topic, set())
                wanted.discard(subscriber)
                if not wanted:
                    self._by_topic.pop(topic, None)

    def close(self) -> None:
        """End the thread. Who subscribed is told no more; who comes later is."""
        with self._lock:
            listener, self._listener = self._listener, None
            self._is_listening = False
            self._subscribers.clear()
            self._fresh.clear()
            self._by_topic.clear()
        if listener is not None and self._thread is not None:
            listener.interrupt()
            self._thread.join()

    def _run(self, listener: HintListener) -> None:
        while self._is_wanted(listener):
            try:
                listener.open()
                while self._is_wanted(listener):
                    self._welcome(listener)
                    self._hand_out(listener.wait(LISTEN_S))
            except Exception as error:  # the one thread that all streams hang on
                log.warning("hints are not heard: %s", error, exc_info=is_unforeseen(error))
                with self._lock:
                    if self._listener is listener:
                        self._is_listening = False
                        self._fresh |= self._subscribers  # they look again once hints are heard again
                time.sleep(REST_AFTER_FAILURE_S)
        listener.close()
        connection.close()

    def _is_wanted(self, listener: HintListener) -> bool:
        with self._lock:
            if self._listener is listener and not self._subscribers:
                self._listener, self._is_listening = None, False
            return self._listener is listener

    def _welcome(self, listener: HintListener) -> None:
        """Call it after `open`: what is told from here on is heard."""
        with self._lock:
            self._is_listening = self._listener is listener
            fresh, self._fresh = self._fresh, set()
        for subscriber in fresh:
            subscriber.listening()

    def _hand_out(self, topics: Iterable[str]) -> None:
        wanted: dict[Subscriber, set[str]] = defaultdict(set)
        with self._lock:
            for topic in topics:
                for subscriber in self._by_topic.get(topic, ()):
                    wanted[subscriber].add(topic)
        for subscriber, found in wanted.items():
            subscriber.hinted(found)


_HUB = HintHub()


def hint_hub() -> HintHub:
    """This process's hub."""
    return _HUB
