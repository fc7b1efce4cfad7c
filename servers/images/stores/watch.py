"""Whether the image store answers, looked at beside whoever asks: a store that hangs keeps nobody waiting for long."""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from controlplane.kernel.errors import Unavailable
from controlplane.work.readiness import full_disk_words
from servers.images.stores.directory import DirectoryStore
from servers.images.stores.store import BytesName, ByteStore

log = logging.getLogger(__name__)
EVERY_S = 10.0
"""So long an answer is good for: a store is asked no more often by one process."""
WAIT_S = 2.0
"""Whoever asks waits so long for a look that has not ended; the store has not answered then."""
SILENT = "the image store does not answer"


@dataclass(frozen=True, slots=True)
class StoreQuestion:
    """What is asked of which store: does it answer, has it these bytes, are so many bytes free where it is a disk."""

    store: ByteStore
    name: BytesName | None
    free_bytes: int


def store_problem(question: StoreQuestion) -> str:
    """Why images cannot be read from the store, or none can come; empty where all is well. It names no place."""
    store = question.store
    try:
        if isinstance(store, DirectoryStore) and (problem := _disk_problem(store, question.free_bytes)):
            return problem
        if question.name is not None and store.size(question.name) is None:
            return "the image store lacks the bytes of an active image"
    except Unavailable:
        return SILENT
    except OSError as error:
        return f"the image store cannot be read: {error.strerror or type(error).__name__}"
    return _write_problem(store) if isinstance(store, DirectoryStore) else ""


def _disk_problem(store: DirectoryStore, wanted: int) -> str:
    try:
        facts = os.statvfs(store.directory)
    except FileNotFoundError:  # it is made by the first upload
        return ""
    return full_disk_words("the image store", facts.f_bavail * facts.f_frsize, wanted)


def _write_problem(store: DirectoryStore) -> str:
    there = next(each for each in (store.directory, *store.directory.parents) if each.exists())
    is_writable = os.access(there, os.W_OK | os.X_OK)
    return "" if is_writable else "the image store takes no images: its directory cannot be written"


class StoreWatch:
    """Safe to use from any thread. One look at a time, in a thread of its own."""

    def __init__(
        self,
        look: Callable[[StoreQuestion], str] = store_problem,
        *,
        every_s: float = EVERY_S,
        wait_s: float = WAIT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._every_s, self._wait_s, self._clock = every_s, wait_s, clock
        self._lock = threading.Lock()
        self._known: tuple[StoreQuestion, float, str] | None = None
        self._running: tuple[float, threading.Event] | None = None

    def problem(self, question: StoreQuestion) -> str:
        """What the last look found, or one that begins now where that is too long ago or was of another store."""
        with self._lock:
            now = self._clock()
            if self._known is not None and self._known[0] == question and now - self._known[1] < self._every_s:
                return self._known[2]
            if self._running is None:
                self._running = (now, threading.Event())
                threading.Thread(
                    target=self._run, args=(question, self._running[1]), name="image-store", daemon=True
                ).start()
            began, ended = self._running
        if not ended.wait(max(0.0, self._wait_s - (now - began))):
            return SILENT
        with self._lock:
            if self._known is not None and self._known[0] == question:
                return self._known[2]
        return self.problem(question)  # what ended was a look at another store

    def _run(self, question: StoreQuestion, ended: threading.Event) -> None:
        found = SILENT
        try:
            found = self._look(question)
        except Exception:
            log.exception("looking at the image store failed")
        finally:
            with self._lock:
                self._known, self._running = (question, self._clock(), found), None
                ended.set()


_WATCH = StoreWatch()


def image_store_watch() -> StoreWatch:
    """That of this process."""
    return _WATCH
