"""What the agent has been asked to look at: doorbells and parked work, in two lanes, each thing once."""

import queue
import threading
from enum import Enum

from computeagent.agent.held_leases import Hold
from computeagent.protocol.work import Ring, WorkKind


class Lane(Enum):
    """Builds are long and few at a time; nothing else waits behind them."""

    BUILDS = "builds"
    ACTIONS = "actions"


def lane_of(kind: WorkKind) -> Lane:
    """Which threads serve this kind of work."""
    return Lane.BUILDS if kind is WorkKind.BUILD else Lane.ACTIONS


class Inbox:
    """Two queues without doubles. A ring for work that is queued or under way says nothing new and is dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._lanes: dict[Lane, queue.SimpleQueue[Ring | Hold | None]] = {lane: queue.SimpleQueue() for lane in Lane}
        self._closed = False

    def put(self, ring: Ring) -> bool:
        """Queue a ring; False when this work is known already."""
        with self._lock:
            if self._closed or ring.work_id in self._known:
                return False
            self._known.add(ring.work_id)
        self._lanes[lane_of(ring.kind)].put(ring)
        return True

    def put_back(self, hold: Hold) -> None:
        """Queue work that is held already and had to wait for its instance."""
        self._lanes[lane_of(hold.order.kind)].put(hold)

    def forget(self, work_id: str) -> None:
        """This work is over, or nobody's here: a later ring for it is news."""
        with self._lock:
            self._known.discard(work_id)

    def next(self, lane: Lane) -> Ring | Hold | None:
        """Wait for the next thing of the lane; None when the inbox is closed."""
        item = self._lanes[lane].get()
        return None if self._closed else item

    def close(self, *, readers: int) -> None:
        """Hand out nothing more, and wake up to `readers` threads per lane."""
        with self._lock:
            self._closed = True
        for lane in self._lanes.values():
            for _ in range(readers):
                lane.put(None)
