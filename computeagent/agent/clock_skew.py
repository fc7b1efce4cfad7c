"""How far the host's clock is from the control plane's, by the exchanges that are made anyway (as NTP does it).

A heartbeat's answer says what the database's clock was while it was made, which lay between the moments when it was
asked for and answered here. So the difference is known to half the time that the exchange took, and the shortest of
the last exchanges knows it best.
"""

import threading
from collections import deque
from collections.abc import Callable

from computeagent.protocol.hosts import ClockSkew, Registration

REMEMBERED = 8
"""Exchanges of which the shortest counts: NTP's clock filter has as many."""


def skew_of(*, sent_s: float, answered_s: float, their_time_s: float) -> ClockSkew:
    """By one exchange; times are Unix seconds, the first two by the host's clock."""
    return ClockSkew(
        ahead_s=round((sent_s + answered_s) / 2 - their_time_s, 4), error_s=round((answered_s - sent_s) / 2, 4)
    )


class ClockWatch:
    """Safe to use from any thread. `clock` is the host's time of day; `steady` does not jump, to time exchanges."""

    def __init__(self, clock: Callable[[], float], steady: Callable[[], float]) -> None:
        self._clock = clock
        self._steady = steady
        self._lock = threading.Lock()
        self._found: deque[ClockSkew] = deque(maxlen=REMEMBERED)

    def exchange(self, ask: Callable[[], Registration]) -> Registration:
        """Ask, and learn from the answer where it has a time."""
        began = self._steady()
        answer = ask()
        took, answered_s = self._steady() - began, self._clock()
        if answer.time_s:
            skew = skew_of(sent_s=answered_s - took, answered_s=answered_s, their_time_s=answer.time_s)
            with self._lock:
                self._forget_if_set(skew)
                self._found.append(skew)
        return answer

    def best(self) -> ClockSkew | None:
        """What is known best now; None before the first exchange."""
        with self._lock:
            return min(self._found, key=lambda one: one.error_s, default=None)

    def _forget_if_set(self, skew: ClockSkew) -> None:
        """One that cannot agree with those before shows that a clock was set: they say nothing any more."""
        if any(abs(one.ahead_s - skew.ahead_s) > one.error_s + skew.error_s + 0.05 for one in self._found):
            self._found.clear()
