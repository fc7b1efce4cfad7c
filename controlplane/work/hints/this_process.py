"""Hints of a database in memory, which one process alone can use."""

import contextlib
import queue
from collections.abc import Collection

_LISTENERS: "set[InThisProcess]" = set()


class InThisProcess:
    """See Carrier and HintListener."""

    is_cheap = True

    def __init__(self) -> None:
        self._came: queue.SimpleQueue[set[str]] = queue.SimpleQueue()

    def send(self, topics: Collection[str]) -> None:
        """See Carrier."""
        for one in list(_LISTENERS):
            one._came.put(set(topics))

    def listener(self) -> "InThisProcess":
        """See Carrier."""
        return InThisProcess()

    def open(self) -> None:
        """See HintListener."""
        _LISTENERS.add(self)

    def wait(self, timeout_s: float) -> set[str]:
        """See HintListener."""
        with contextlib.suppress(queue.Empty):
            return self._came.get(timeout=timeout_s)
        return set()

    def interrupt(self) -> None:
        """See HintListener."""
        self._came.put(set())

    def close(self) -> None:
        """See HintListener."""
        _LISTENERS.discard(self)
