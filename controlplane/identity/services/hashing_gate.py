"""How many passwords a process hashes, or asks a directory about, at once.

One hash takes a third of a second of a processor, and anybody may ask for one. Without a bound a few strangers would
take every thread of the web server; with it they take a few, and the rest is refused at once instead of queueing.
"""

import threading
from types import TracebackType

from controlplane.identity.domain import LoginsBusy

# Who waits for each one that is being hashed.
WAITING_EACH = 2


class HashingGate:
    """Of one process. `with gate:` around what hashes; raises LoginsBusy where even the queue is full."""

    def __init__(self, *, at_once: int, waiting: int) -> None:
        self.at_once = at_once
        self._places = at_once + waiting
        self._taken = 0
        self._lock = threading.Lock()
        self._hashing = threading.BoundedSemaphore(at_once)

    @property
    def free_places(self) -> int:
        """How many more may come, to hash or to wait."""
        return self._places - self._taken

    def __enter__(self) -> None:
        with self._lock:
            if self._taken >= self._places:
                raise LoginsBusy
            self._taken += 1
        self._hashing.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hashing.release()
        with self._lock:
            self._taken -= 1


_gates: dict[tuple[str, int], HashingGate] = {}


def hashing_gate(at_once: int, *, what: str = "hashes") -> HashingGate:
    """The gate of this process for this setting. `what` goes through it: each kind has a gate of its own."""
    return _gates.setdefault((what, at_once), HashingGate(at_once=at_once, waiting=WAITING_EACH * at_once))
