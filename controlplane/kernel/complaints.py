"""What a log is told seldom, so that many tries are few lines."""

import threading
import time
from collections.abc import Callable

SAY_AGAIN_S = 60.0
MAX_REASONS = 1000
"""So many reasons are remembered: strangers may bring ever new ones."""


class Complaints:
    """What the log was told of late, so that a refusal that every thread hears again and again is one line a minute, or
    in `say_again_s`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, say_again_s: float = SAY_AGAIN_S) -> None:
        self._clock = clock
        self._say_again_s = say_again_s
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}

    def is_due(self, reason: str) -> bool:
        """Whether the log was not told this for so long; it counts as told now."""
        now = self._clock()
        with self._lock:
            self._last = {each: at for each, at in self._last.items() if now - at < self._say_again_s}
            if reason in self._last:
                return False
            while len(self._last) >= MAX_REASONS:
                del self._last[next(iter(self._last))]  # the oldest
            self._last[reason] = now
            return True

    def forget(self) -> None:
        """Nothing was told."""
        with self._lock:
            self._last.clear()
