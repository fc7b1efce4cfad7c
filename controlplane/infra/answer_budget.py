"""Answers that cost seconds of a processor, and that anybody with a role may ask for: who may ask for how many.

In one process a key (a project) has one of them worked out at a time, and so many seconds of them a minute. Both are
held in memory: what is protected is this process and its few threads.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from controlplane.kernel.errors import Throttled
from controlplane.kernel.texts import phrase as _

T = TypeVar("T")
WINDOW_S = 60.0


class AnswerBudget:
    """Of one process; its threads share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        # Per key the answers of the last minute: when each ended, and how long it took.
        self._spent: dict[str, deque[tuple[float, float]]] = {}

    @contextmanager
    def spend(self, key: str, *, seconds_a_minute: float) -> Iterator[None]:
        """Around working one out. Raises Throttled while another is, or the minute is used up. 0: no bound."""
        if seconds_a_minute <= 0:
            yield
            return
        began = self._begin(key, seconds_a_minute)
        try:
            yield
        finally:
            now = self._clock()
            with self._lock:
                self._busy.discard(key)
                self._spent.setdefault(key, deque()).append((now, now - began))

    def _begin(self, key: str, seconds_a_minute: float) -> float:
        now = self._clock()
        with self._lock:
            self._forget(now)
            if key in self._busy:
                raise Throttled(
                    _("Another answer is being worked out for this project. Ask again in a moment."), wait_s=1
                )
            spent = self._spent.get(key, deque())
            if sum(seconds for _rest, seconds in spent) >= seconds_a_minute:
                wait_s = max(1, round(spent[0][0] + WINDOW_S - now))
                raise Throttled(
                    _(
                        "This project has used its {seconds_a_minute:g} s of answers for this minute. Ask "
                        "again in {wait_s} s.",
                        seconds_a_minute=seconds_a_minute,
                        wait_s=wait_s,
                    ),
                    wait_s=wait_s,
                )
            self._busy.add(key)
        return now

    def _forget(self, now: float) -> None:
        for key in list(self._spent):
            ends = self._spent[key]
            while ends and ends[0][0] <= now - WINDOW_S:
                ends.popleft()
            if not ends:
                del self._spent[key]


class RecentResults(Generic[T]):
    """The last `size` results of something that gives the same result for the same key for ever."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, T] = OrderedDict()

    def get(self, key: str) -> T | None:
        """The result, if it is still there."""
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
            return self._cached.get(key)

    def put(self, key: str, result: T) -> None:
        """Keep it; the one that was not asked for longest goes."""
        with self._lock:
            self._cached[key] = result
            self._cached.move_to_end(key)
            if len(self._cached) > self._size:
                self._cached.popitem(last=False)


answer_budget = AnswerBudget()
