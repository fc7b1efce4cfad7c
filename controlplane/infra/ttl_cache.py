"""An answer that is made at most once in so many seconds, however many ask at the same time."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TtlCache(Generic[T]):
    """One value of one process, shared by its threads. Who asks while it is made waits; a failure is not cached."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: tuple[float, T] | None = None

    def forget(self) -> None:
        """Make it anew next time."""
        with self._lock:
            self._made = None

    def get(self, make: Callable[[], T], *, fresh_s: float) -> T:
        """What was made within the last `fresh_s` seconds, else what `make` says now."""
        with self._lock:
            if self._made is not None and self._clock() - self._made[0] < fresh_s:
                return self._made[1]
            answer = make()
            self._made = (self._clock(), answer)
            return answer
