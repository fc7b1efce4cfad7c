"""The threads of one lane of work: as many as are meant to be, and one more for each that hangs on its work.

A verb on a sick guest may take minutes (a QEMU that answers nobody, a disk that is away). Without more threads a few
such guests would delay the work of all others.
"""

from collections.abc import Callable

from computeagent.agent.worker import Worker

MAX_WORKERS = 32
"""More threads than that no lane gets, however many guests hang."""


class WorkerPool:
    """`start` begins a thread of this number for a worker; work that takes longer than `slow_s` has one of its own,
    beside the `count` that are meant to be. `relieve` is called now and then by one thread.
    """

    def __init__(
        self, count: int, make: Callable[[], Worker], start: Callable[[int, Worker], None], *, slow_s: float
    ) -> None:
        self._count = count
        self._slow_s = slow_s
        self._make = make
        self._start = start
        self._workers: list[Worker] = []

    def begin(self) -> None:
        """Start the threads that are meant to be."""
        while len(self._workers) < self._count:
            self._add()

    def relieve(self) -> None:
        """Start one for each that is slow. Threads that are no longer needed wait for the next time: they are few."""
        slow = sum(worker.busy_s() > self._slow_s for worker in self._workers)
        while len(self._workers) < min(self._count + slow, MAX_WORKERS):
            self._add()

    def _add(self) -> None:
        worker = self._make()
        self._workers.append(worker)
        self._start(len(self._workers) - 1, worker)
