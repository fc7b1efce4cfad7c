"""Waiting for the wake-ups of one queue."""

import time

from controlplane.work.wakeups.many_queues import ManyQueues, many_queues_open
from controlplane.work.wakeups.received import ReceivedWakeup

BATCH = 32
"""Taken at once: what a server takes and does not begin before it dies waits for the reconciler."""


class WakeupWaiter:
    """Where the server of one queue waits. Use from one thread only."""

    def __init__(self, queue: str, queues: ManyQueues) -> None:
        self._queue = queue
        self._queues = queues

    def wait(self, timeout_s: float) -> list[ReceivedWakeup]:
        """Wake-ups that came, at the latest after `timeout_s` seconds. Raises Unavailable."""
        until = time.monotonic() + timeout_s
        while True:
            found = self._queues.wait([self._queue], max(0.0, until - time.monotonic()))
            if found or time.monotonic() >= until:
                return found.get(self._queue, [])

    def close(self) -> None:
        """Give up what the waiter holds."""
        self._queues.close()


def waiter_open(queue: str) -> WakeupWaiter:
    """The waiter of this installation for `queue`."""
    return WakeupWaiter(queue, many_queues_open(limit=BATCH))
