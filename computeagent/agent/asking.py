"""When an agent asks for what may wait for it: after a wake-up, and now and then, as wake-ups may be lost."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from computeagent.agent.retry import JITTER
from controlplane.kernel.errors import KilonovaError


class Asking:
    """For one thing. Wake-ups may come from any thread; one thread asks. `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.wake = threading.Event()
        """Set when the thread that asks is to do so before its time."""
        self._clock = clock
        self._is_stale = threading.Event()
        self._asked_at: float | None = None

    def wakeup(self) -> None:
        """The control plane says that something waits."""
        self._is_stale.set()
        self.wake.set()

    def is_due(self, look_s: float) -> bool:
        """Whether a wake-up came since it was asked last, or that was `look_s` seconds ago; the first time it is."""
        if self._asked_at is None or self._is_stale.is_set():
            return True
        return self._clock() - self._asked_at >= (1 - JITTER) * look_s

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Ask inside. Where that fails it stays due."""
        self._is_stale.clear()  # not later: what changes while it is asked for is told by another wake-up
        try:
            yield
        except KilonovaError:
            self._is_stale.set()
            raise
        self._asked_at = self._clock()
