"""The threads of the process. One that ends unasked, or falls silent, ends all: the supervisor starts anew."""

import logging
import threading
import time
from collections.abc import Callable

from computeagent.agent.ownership import HostOwnershipLost

log = logging.getLogger(__name__)


class ThreadSilent(Exception):
    """A periodic thread has sent no heartbeat for too long; it hangs in a call that will not return."""


class ThreadGroup:
    """Starts threads and notices their deaths."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        """Whoever waits for a thread finds it started."""
        self.died = threading.Event()
        self.cause = ""

    def start(self, name: str, body: Callable[[], None], *, may_end: bool = False) -> None:
        """Run `body` in a thread. `may_end`: returning (not failing) is no reason to end the process."""
        thread = threading.Thread(target=self._run, args=(name, body, may_end), name=name, daemon=True)
        with self._lock:
            self._threads.append(thread)
            thread.start()

    def wait_for(self, prefix: str, *, seconds: float) -> bool:
        """Wait for the threads of this name to end; False when some did not in time."""
        end = time.monotonic() + seconds
        with self._lock:
            mine = [thread for thread in self._threads if thread.name.startswith(prefix)]
        for thread in mine:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in mine)

    def _run(self, name: str, body: Callable[[], None], may_end: bool) -> None:
        cause = f"thread {name} ended"
        failed = True
        try:
            body()
            failed = not may_end
        except HostOwnershipLost as error:  # no defect: its reason is all there is to say
            cause = str(error)
        except BaseException as error:  # whatever it is, the process ends of it
            cause = f"thread {name} died: {type(error).__name__}: {error}"
            if not self._stopping.is_set():
                log.critical("%s", cause, exc_info=True)
        finally:
            if failed and not self._stopping.is_set():
                self.cause = self.cause or cause
                self.died.set()


class ThreadHeartbeats:
    """When each periodic thread was last heard of."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, tuple[float, float]] = {}

    def beat(self, name: str, *, next_within_s: float) -> None:
        """`name` is alive and means to be back within so many seconds."""
        with self._lock:
            self._last[name] = (self._clock(), next_within_s)

    def check(self, *, allowance_s: float) -> None:
        """Raises ThreadSilent for one that is overdue by more than `allowance_s`."""
        now = self._clock()
        with self._lock:
            overdue = {name: now - at - within for name, (at, within) in self._last.items()}
        for name, seconds in overdue.items():
            if seconds > allowance_s:
                raise ThreadSilent(f"thread {name} is silent, overdue by {seconds:.0f} s")
