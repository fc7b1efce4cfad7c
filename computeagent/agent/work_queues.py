"""What the agent has been asked to look at: wake-ups and parked work, in two lanes, each thing once."""

import queue
import threading
from enum import Enum

from computeagent.agent.held_leases import HeldLease
from computeagent.protocol.work import WorkKind, WorkWakeup


class WorkQueue(Enum):
    """Builds, and copies of disks, are long and few at a time; nothing else waits behind them."""

    BUILDS = "builds"
    ACTIONS = "actions"
    IMAGES = "images"


def queue_of(kind: WorkKind) -> WorkQueue:
    """Which threads serve this kind of work."""
    if kind in {WorkKind.BUILD, WorkKind.UNSHELVE}:
        return WorkQueue.BUILDS
    if kind in {WorkKind.SNAPSHOT, WorkKind.BACKUP, WorkKind.SHELVE}:
        return WorkQueue.IMAGES
    return WorkQueue.ACTIONS


class Inbox:
    """Two queues without doubles. A ring for work that is queued or under way says nothing new and is dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._queues: dict[WorkQueue, queue.SimpleQueue[WorkWakeup | HeldLease | None]] = {
            queue_name: queue.SimpleQueue() for queue_name in WorkQueue
        }
        self._closed = False

    def put(self, wakeup: WorkWakeup) -> bool:
        """Queue a ring; False when this work is known already."""
        with self._lock:
            if self._closed or wakeup.work_id in self._known:
                return False
            self._known.add(wakeup.work_id)
        self._queues[queue_of(wakeup.kind)].put(wakeup)
        return True

    def put_back(self, held: HeldLease) -> None:
        """Queue work that is held already and had to wait for its instance."""
        self._queues[queue_of(held.order.kind)].put(held)

    def forget(self, work_id: str) -> None:
        """This work is over, or nobody's here: a later wake it is news."""
        with self._lock:
            self._known.discard(work_id)

    def next(self, queue_name: WorkQueue) -> WorkWakeup | HeldLease | None:
        """Wait for the next thing of the lane; None when the inbox is closed."""
        item = self._queues[queue_name].get()
        return None if self._closed else item

    def close(self, *, readers: int) -> None:
        """Hand out nothing more, and wake up to `readers` threads per lane."""
        with self._lock:
            self._closed = True
        for queue_name in self._queues.values():
            for _ in range(readers):
                queue_name.put(None)
